"""What an operator starts in Dagster's Launchpad for a person: a run-now request, a resend."""

from __future__ import annotations

from queries_orchestration.deliveries.resend import resend
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.refusals import refusals_recorded


def admit_from_launchpad(
    backends: Backends, *, schedule_id: str, person_id: str, reason: str, run_id: str
) -> str:
    """Admit a manual occurrence for ``person_id`` and return its key.

    Args:
        run_id: the operator's Dagster run; executing it again is the same click.

    Raises:
        Refused: something is missing in the config (``incomplete_config``), or such runs are
            switched off (``dagster_ui_runs_off``).
        NotFound, AccessLost, …: as ``run_now``.
    """
    _check_switched_on(backends)
    if not (schedule_id and person_id and reason.strip()):
        raise Refused(
            "Give the key of an occurrence; or a schedule, as_person and a reason.",
            code="incomplete_config",
        )
    with backends.database.read() as connection:
        workspace_id = cross_workspace.workspace_of_schedule(connection, schedule_id)
    if workspace_id is None:
        raise NotFound(f"There is no schedule {schedule_id}.")
    by = By(via="dagster-ui", person_id=person_id)
    with refusals_recorded(
        backends.database,
        workspace_id,
        by=by,
        attempted="run_launched",
        subject=Subject("schedule", schedule_id),
        clock=backends.clock,
    ):
        return run_now(
            backends,
            workspace_id,
            schedule_id=schedule_id,
            by=by,
            client_key=f"dagster:{run_id}",
            reason=reason.strip(),
        )


def resend_from_launchpad(
    backends: Backends, *, occurrence_key: str, person_id: str, reason: str
) -> str:
    """Admit a resend for ``person_id`` and return its key; that of the one under way if there is.

    Raises:
        Refused: something is missing in the config (``incomplete_config``), or such runs are
            switched off (``dagster_ui_runs_off``).
        NotFound, AccessLost, …: as ``resend``.
    """
    _check_switched_on(backends)
    if not (occurrence_key and person_id and reason.strip()):
        raise Refused("Give an occurrence, as_person and a reason.", code="incomplete_config")
    with backends.database.read() as connection:
        workspace_id = cross_workspace.workspace_of_occurrence(connection, occurrence_key)
    if workspace_id is None:
        raise NotFound(f"There is no occurrence {occurrence_key}.")
    by = By(via="dagster-ui", person_id=person_id)
    with refusals_recorded(
        backends.database,
        workspace_id,
        by=by,
        attempted="resend_launched",
        subject=Subject("occurrence", occurrence_key),
        clock=backends.clock,
    ):
        return resend(
            backends,
            workspace_id,
            occurrence_key=occurrence_key,
            by=by,
            reason=reason.strip(),
        )


def _check_switched_on(backends: Backends) -> None:
    if not backends.settings.dagster_ui_runs:
        raise Refused(
            "Running a schedule from Dagster is switched off (QUERIES_DAGSTER_UI_RUNS).",
            code="dagster_ui_runs_off",
        )
