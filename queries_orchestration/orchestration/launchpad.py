"""What an operator starts in Dagster: a run-now request or a resend for a person, a backfill."""

from __future__ import annotations

from datetime import date
from functools import partial

from queries_orchestration.deliveries.backfill import Backfilled, backfill
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.audit import SYSTEM, By, Subject
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.refusals import refusals_recorded


def occurrence_from_launchpad(
    backends: Backends,
    *,
    occurrence_key: str,
    schedule_id: str,
    person_id: str,
    reason: str,
    run_id: str,
) -> str:
    """Return the key of the occurrence that a run is to work: the one it names, or a manual one.

    Args:
        run_id: of the operator's Dagster run, or of the one that it executes again: the same click.

    Raises:
        Refused: an occurrence is named, and something else beside it (``incomplete_config``).
        Refused, NotFound, AccessLost, …: as ``admit_from_launchpad``.
    """
    if not occurrence_key:
        return admit_from_launchpad(
            backends, schedule_id=schedule_id, person_id=person_id, reason=reason, run_id=run_id
        )
    if schedule_id or person_id or reason:
        raise Refused(
            "Give the key of an occurrence alone, which is worked as whoever it is for; or a"
            " schedule, as_person and a reason, without an occurrence.",
            code="incomplete_config",
        )
    return occurrence_key


def admit_from_launchpad(
    backends: Backends, *, schedule_id: str, person_id: str, reason: str, run_id: str
) -> str:
    """Admit a manual occurrence for ``person_id`` and return its key.

    Args:
        run_id: of the click: the same again is the same occurrence.

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
    with backends.database.across.read() as connection:
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
    with backends.database.across.read() as connection:
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


def backfill_from_launchpad(
    backends: Backends, day: date, *, workspace_id: str, schedule_id: str, person_id: str
) -> Backfilled:
    """Admit what nobody delivered on a UTC day.

    Args:
        workspace_id: of this workspace alone; empty: of the schedule's, or of all.
        schedule_id: of this schedule alone; empty: of each.
        person_id: who asks; empty: nobody is named, and the audit trail says the system. Dagster
            does not tell who has launched a backfill, and its dialog takes no config.

    Raises:
        NotFound, Refused: as ``backfill``.
    """
    if schedule_id:
        with backends.database.across.read() as connection:
            of_schedule = cross_workspace.workspace_of_schedule(connection, schedule_id)
        if of_schedule is None or workspace_id not in ("", of_schedule):
            raise NotFound(f"There is no schedule {schedule_id}.")
        workspace_id = of_schedule
    by = By(via="dagster-ui", person_id=person_id) if person_id else SYSTEM
    asked = partial(
        backfill,
        backends,
        day,
        by=by,
        workspace_id=workspace_id or None,
        schedule_id=schedule_id or None,
    )
    if not person_id or not workspace_id:
        return asked()
    subject = Subject("schedule", schedule_id) if schedule_id else None
    with refusals_recorded(
        backends.database,
        workspace_id,
        by=by,
        attempted="backfill_launched",
        subject=subject or Subject.asked("workspace", workspace_id),
        clock=backends.clock,
    ):
        return asked()


def _check_switched_on(backends: Backends) -> None:
    if not backends.settings.dagster_ui_runs:
        raise Refused(
            "Running a schedule from Dagster is switched off (QUERIES_DAGSTER_UI_RUNS).",
            code="dagster_ui_runs_off",
        )
