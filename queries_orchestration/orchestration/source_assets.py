"""The sources as assets, so that Dagster's UI describes them and plots their files."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import dagster as dg

from queries_orchestration.model.errors import QueriesError
from queries_orchestration.settings import load_settings
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.cross_workspace import ShownSource
from queries_orchestration.store.database import Database, is_there, limit_statements

MOST_SOURCES: Final = 2_000
"""How many are shown: Dagster's pages grow slow with the assets of a code location."""
LONGEST_SECONDS: Final = 10
"""How long the code location may wait for them, where the database can be told so."""

log = logging.getLogger(__name__)


def source_assets(environment: Mapping[str, str]) -> list[dg.AssetSpec]:
    """Return an asset for each saved query and report, which only its files' events fill.

    Args:
        environment: where the settings are, the address of the application database among them.

    Returns:
        None at all if the database cannot be read: what is delivered does not hang on it.
    """
    try:
        url = load_settings(environment).database_url
        if not is_there(url):
            # Nor is it made here: that is for `queries init`, by whoever should own the file.
            log.warning("sources_not_shown code=no_database")
            return []
        with Database(url).across.read() as connection:
            limit_statements(connection, LONGEST_SECONDS)
            found = cross_workspace.shown_sources(connection, limit=MOST_SOURCES + 1)
        assets = [asset_of(source) for source in found[:MOST_SOURCES]]
    except Exception as error:  # noqa: BLE001 - for show alone: the code location loads without
        code = error.code if isinstance(error, QueriesError) else type(error).__name__
        log.warning("sources_not_shown code=%s", code)
        return []
    if len(found) > MOST_SOURCES:
        log.warning("sources_not_shown code=too_many shown=%d", MOST_SOURCES)
    return assets


def asset_of(source: ShownSource) -> dg.AssetSpec:
    """Return a source as an asset, by the catalog's names."""
    place = source.workspace_name
    return dg.AssetSpec(
        key=asset_key(place, source.name),
        description=(
            f"The files of the {source.kind} {source.name} of the workspace {place}, made for"
            " deliveries and because somebody asked. Under whose access each was read, and with"
            " which values, differs from file to file."
        ),
        group_name=place.replace("-", "_"),  # which is all that a group may hold
        kinds={source.kind},
    )


def asset_key(workspace_name: str, source_name: str) -> dg.AssetKey:
    """Return the key of a source's files."""
    return dg.AssetKey(["queries", workspace_name, source_name])
