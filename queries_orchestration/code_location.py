"""What a code server loads: the definitions, and the sources as they are when it does."""

from __future__ import annotations

import os

import dagster as dg
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)

# Not by its name: Dagster looks for the one object here that it can load.
from queries_orchestration import definitions
from queries_orchestration.orchestration.source_assets import source_assets


@dg.definitions
def loaded() -> dg.Definitions:
    """Return the definitions, with an asset for each source.

    The process of a run loads them, too, and needs no assets: it would read all sources each time.
    """
    if DefinitionsLoadContext.get().load_type == DefinitionsLoadType.RECONSTRUCTION:
        return definitions.defs
    return dg.Definitions.merge(definitions.defs, dg.Definitions(assets=source_assets(os.environ)))
