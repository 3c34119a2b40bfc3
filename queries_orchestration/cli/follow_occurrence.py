"""Publish an occurrence that a person has just asked for, follow it, and tell who got what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from queries_orchestration.cli.follow import Followed, follow, publish_work
from queries_orchestration.cli.output import end_failed, print_json, print_wrapped
from queries_orchestration.cli.told_occurrence import result_text
from queries_orchestration.model.errors import NotFound
from queries_orchestration.receives.backends import Backends
from queries_orchestration.settings import DELIVERY_LANE, REPORT_LANE
from queries_orchestration.store import claims, occurrences
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.occurrences import occurrence_json


def follow_occurrence(
    backends: Backends,
    place: Workspace,
    plan: Schedule,
    key: str,
    *,
    work: bool,
    no_wait: bool,
    wait: float | None,
    as_json: bool,
) -> None:
    """Publish the occurrence, follow it to its end unless ``no_wait``, and tell it.

    Args:
        work: work it here.
        wait: seconds to follow it at most; None: without end.
    """
    followed = _followed(backends, place, plan, key)
    if not work:
        publish_work(backends, followed)
    if not no_wait:
        follow(backends, followed, work_here=work, wait=wait, quiet=as_json)
    with backends.database.read(plan.workspace_id) as connection:
        occurrence = occurrences.get(connection, place.id, key)
        if occurrence is None:
            raise NotFound(f"The occurrence {key} is gone.")
        told = occurrence_json(connection, backends, place, plan, occurrence)
    if occurrence.outcome in ("failed", "cancelled"):
        if not as_json:
            _print(told)
        end_failed(told, as_json=as_json)
    if as_json:
        print_json(told)
    elif no_wait:
        click.echo(key)
    else:
        _print(told)


def _followed(backends: Backends, place: Workspace, plan: Schedule, key: str) -> Followed:
    with backends.database.read(plan.workspace_id) as connection:
        occurrence = occurrences.get(connection, place.id, key)
        export_id = (occurrence and occurrence.export_id) or ""
        render = claims.get(connection, place.id, export_id)
    work = Followed(
        workspace_id=place.id,
        key=key,
        export_id=export_id,
        lane=DELIVERY_LANE,
        label=f"Running {place.name}/{plan.name}",
        later=(
            f"{key} does not end with this command. To see it:\n"
            f"  queries history {plan.name} --workspace {place.name}"
        ),
    )
    if render is None or render.state == "done":
        return work
    label = f"Rendering {place.name}/{plan.name}"
    return replace(work, first=replace(work, key=export_id, lane=REPORT_LANE, label=label))


def _print(told: dict[str, Any]) -> None:
    click.echo(f"{told['workspace']}/{told['schedule']}  {told['outcome']}  {told['occurrence']}")
    if result := result_text(told):
        print_wrapped(result, indent=2)
