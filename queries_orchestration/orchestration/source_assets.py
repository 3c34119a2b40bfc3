"""The sources as assets, so that Dagster's UI describes them and plots their files."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import dagster as dg

from queries_orchestration.model.errors import QueriesError
from queries_orchestration.settings import load_settings
from queries_orchestration.store import sources, workspaces
from queries_orchestration.store.database import Database
from queries_orchestration.store.sources import Source
from queries_orchestration.store.workspaces import Workspace

MOST_SOURCES: Final = 2_000
"""How many are shown: Dagster's pages grow slow with the assets of a code location."""

log = logging.getLogger(__name__)


def source_assets(environment: Mapping[str, str]) -> list[dg.AssetSpec]:
    """Return an asset for each saved query and report, which only its files' events fill.

    Args:
        environment: where the settings are, the address of the application database among them.

    Returns:
        None at all if the database cannot be read: what is delivered does not hang on it.
    """
    try:
        with Database(load_settings(environment).database_url).read() as connection:
            found = [
                (place, source)
                for place in workspaces.listing(connection)
                for source in sources.listing(connection, place.id)
                if not source.archived
            ]
    except QueriesError as error:
        log.warning("sources_not_shown code=%s", error.code)
        return []
    if len(found) > MOST_SOURCES:
        log.warning("sources_not_shown code=too_many left_out=%d", len(found) - MOST_SOURCES)
    return [asset_of(place, source) for place, source in found[:MOST_SOURCES]]


def asset_of(place: Workspace, source: Source) -> dg.AssetSpec:
    """Return a source as an asset, by the catalog's names."""
    return dg.AssetSpec(
        key=asset_key(place.name, source.name),
        description=(
            f"The files of the {source.kind} {source.name} of the workspace {place.name}, made for"
            " deliveries and because somebody asked. Under whose access each was read, and with"
            " which values, differs from file to file."
        ),
        group_name=place.name.replace("-", "_"),  # which is all that a group may hold
        kinds={source.kind},
    )


def asset_key(workspace_name: str, source_name: str) -> dg.AssetKey:
    """Return the key of a source's files."""
    return dg.AssetKey(["queries", workspace_name, source_name])
