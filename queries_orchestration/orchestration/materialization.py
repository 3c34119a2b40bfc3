"""An asset materialization per source, so that Dagster plots rows, size and time of its files."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import dagster as dg

from queries_orchestration.model.errors import ReceiveLost, StoreUnavailable
from queries_orchestration.orchestration import metadata, tags
from queries_orchestration.orchestration.source_assets import asset_key
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export
from queries_orchestration.telling.work import Work, work_of

log = logging.getLogger(__name__)


def materialize_delivered(
    context: dg.OpExecutionContext, backends: Backends, receive: Receive, made: Export
) -> None:
    """Log the materialization of the file that a delivery's own receive made, once for each file.

    A receive that was killed between the file and its event leaves it to the next one, which looks
    whether an earlier run of the occurrence has logged it. A delivery that waited for a render, or
    sends a file again, logs nothing.

    Raises:
        ReceiveLost: a newer receive took the work, and logs it.
        StoreUnavailable: the database cannot be reached.
    """
    try:
        with backends.database.transaction(receive.workspace_id) as connection:
            work = work_of(connection, receive)
            if work is None or not work.is_maker:
                return
            claims.hold(connection, receive)
            attempts = claims.attempts(connection, receive.workspace_id, receive.key)
    except (ReceiveLost, StoreUnavailable):
        raise
    except Exception as error:  # noqa: BLE001 - a row that cannot be read costs a point in a plot
        _log_not_written(receive.key, error)
        return
    earlier = [attempt.run_id for attempt in attempts if attempt.number < receive.number]
    materialize(context, work, made, public_url=backends.settings.public_url, unless_by=earlier)


def materialize(
    context: dg.OpExecutionContext,
    work: Work,
    made: Export,
    *,
    public_url: str,
    unless_by: Sequence[str] = (),
) -> None:
    """Log the materialization of a file, if Dagster can write it: a file is made without it, too.

    Args:
        unless_by: runs that may have logged it already.
    """
    try:
        if not any(_is_logged(context.instance, run_id) for run_id in unless_by):
            context.log_event(materialization_of(work, made, public_url=public_url))
    except Exception as error:  # noqa: BLE001 - its storage may be locked, or the run deleted
        _log_not_written(work.occurrence_key or work.export_id, error)


def materialization_of(work: Work, made: Export, *, public_url: str) -> dg.AssetMaterialization:
    """Return the materialization of a file; its asset is the source, by the catalog's names.

    Args:
        public_url: root of our site, for the link to the page.
    """
    return dg.AssetMaterialization(
        asset_key=asset_key(work.workspace_name, work.source_name or ""),
        description=(
            f"A file of the {work.source_kind} {work.source_name} of the workspace"
            f" {work.workspace_name}, made for"
            f" {'a delivery' if work.occurrence_key else 'who asked for it'}."
        ),
        metadata=metadata.of_work(work, public_url)
        | metadata.of_file(made)
        | {"outcome": tags.READY},
    )


def _log_not_written(key: str | None, error: Exception) -> None:
    log.warning("materialization_not_written work=%s type=%s", key, type(error).__name__)


def _is_logged(instance: dg.DagsterInstance, run_id: str) -> bool:
    records = instance.get_records_for_run(
        run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION, limit=1
    )
    return bool(records.records)
