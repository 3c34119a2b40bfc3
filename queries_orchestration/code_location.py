"""What a code server loads: the definitions, and the sources as they are when it does."""

from __future__ import annotations

import os
from typing import Final

import dagster as dg
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)

# Not by its name: Dagster looks for the one object here that it can load.
from queries_orchestration import definitions
from queries_orchestration.orchestration.source_assets import source_assets

_read: Final[list[dg.AssetSpec]] = []


@dg.definitions
def loaded() -> dg.Definitions:
    """Return the definitions, with an asset for each source.

    A code server loads twice: it looks what there is, and reconstructs what it serves from that.
    The process of a run only reconstructs, and needs no assets: each would read all sources.
    """
    if DefinitionsLoadContext.get().load_type != DefinitionsLoadType.RECONSTRUCTION:
        _read[:] = source_assets(os.environ)
    return dg.Definitions.merge(definitions.defs, dg.Definitions(assets=_read))
