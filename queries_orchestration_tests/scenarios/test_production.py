"""The production shape delivers what is due while its parts are killed and come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import dagster as dg
import psutil
import pytest
import sqlalchemy as sa

from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.sweep import sweep_uploads
from queries_orchestration.model.audit import By
from queries_orchestration.orchestration.run_requests import nudge
from queries_orchestration.receives.publish import publish
from queries_orchestration_tests.conftest import CI
from queries_orchestration_tests.redis_server import RedisNotFound
from queries_orchestration_tests.scenarios.production import (
    UNFINISHED,
    Production,
    production,
)
from queries_orchestration_tests.scenarios.tenants import tenants
from queries_orchestration_tests.storage.s3_server import BUCKET

TENANTS = 20
REPORTS = 4
KILLED = 4
"""Receives at most: one by itself, and the three of a worker."""
RECIPIENTS = 2  # of a query; a report has one


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A hundred occurrences in all; five hundred, too, in `make soak`."""
    each = [5, 25] if metafunc.config.getoption("--soak") else [5]
    metafunc.parametrize("schedules", each)


@pytest.fixture
def shape(tmp_path: Path, schedules: int) -> Iterator[Production]:
    try:
        with production(tmp_path, tenants(TENANTS, schedules, reports=REPORTS)) as made:
            yield made
    except RedisNotFound as error:
        if CI:
            raise
        pytest.skip(str(error))


def test_every_occurrence_is_settled_and_each_recipient_gets_one_message_whatever_is_killed(
    shape: Production, schedules: int
) -> None:
    due = TENANTS * schedules
    with shape.running() as instance:
        shape.admit_all()
        exports = [_ask_export(shape, workspace) for workspace in _workspaces(shape)[:5]]

        shape.wait_for(lambda: shape.settled() >= due * 0.1)
        _kill_a_run(shape, instance)
        shape.wait_for(lambda: shape.settled() >= due * 0.25)
        shape.process("worker-delivery").kill()
        shape.wait_for(lambda: shape.settled() >= due * 0.4)
        shape.process("daemon").kill()
        shape.wait_for(lambda: shape.settled() >= due * 0.6)
        shape.servers.postgres.crash()

        shape.wait_for(lambda: shape.settled() == due)
        shape.wait_for(lambda: not instance.get_runs(dg.RunsFilter(statuses=UNFINISHED)))
        page = _follow_a_link(shape)

    assert _outcomes(shape) == {"delivered": due}
    assert _states(shape, exports) == {"ready"}
    _each_recipient_has_one_message(shape, due)
    _no_upload_stays_open(shape)
    assert page


def _kill_a_run(shape: Production, instance: dg.DagsterInstance) -> None:
    """Kill the child of the delivery worker that works a run now."""
    worker = shape.process("worker-delivery")

    def found() -> psutil.Process | None:
        for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
            for event in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
                started = re.search(r"Started process for run \(pid: (\d+)\)", event.message)
                if started and int(started[1]) in [child.pid for child in worker.children()]:
                    return psutil.Process(int(started[1]))
        return None

    child = shape.wait_for(found)
    assert child is not None
    child.kill()


def _workspaces(shape: Production) -> list[str]:
    with shape.backends.database.across.read() as connection:
        return list(connection.scalars(sa.text("SELECT id FROM workspaces ORDER BY name")))


def _ask_export(shape: Production, workspace_id: str) -> str:
    """Let the workspace's author ask for a file, and nudge Dagster's web server."""
    with shape.backends.database.across.read() as connection:
        ada = connection.scalar(
            sa.text("SELECT id FROM people WHERE workspace_id = :workspace AND name = 'ada'"),
            {"workspace": workspace_id},
        )
    export_id = admit_export(
        shape.backends,
        workspace_id,
        by=By(via="command", person_id=str(ada)),
        source_name="all-orders",
        file_format="csv",
        given_values={},
    )
    publish(shape.backends, workspace_id, export_id, nudge(shape.backends.settings))
    return export_id


def _outcomes(shape: Production) -> dict[str, int]:
    with shape.backends.database.across.read() as connection:
        counted = connection.execute(
            sa.text("SELECT outcome, count(*) AS number FROM occurrences GROUP BY outcome")
        )
        return {row.outcome: row.number for row in counted}


def _states(shape: Production, exports: list[str]) -> set[str]:
    with shape.backends.database.across.read() as connection:
        found = connection.execute(
            sa.text("SELECT state FROM exports WHERE id IN :ids").bindparams(
                sa.bindparam("ids", exports, expanding=True)
            )
        )
        return set(found.scalars())


def _each_recipient_has_one_message(shape: Production, due: int) -> None:
    """One message id each; taken twice only where the delivery says it was submitted again."""
    with shape.backends.database.across.read() as connection:
        rows = connection.execute(
            sa.text(
                "SELECT message_id, state, resubmitted_at FROM deliveries WHERE state != 'skipped'"
            )
        ).all()
    assert {row.state for row in rows} == {"sent"}
    assert len(rows) == (due - REPORTS) * RECIPIENTS + REPORTS
    taken = shape.servers.mail.taken()
    messages = Counter(message_id for message_id, _ in taken.elements())
    assert {row.message_id for row in rows} == {message_id for message_id, _ in taken}
    assert len(taken) == len(rows)
    again = {row.message_id for row in rows if row.resubmitted_at}
    assert {message_id for message_id, times in messages.items() if times > 1} <= again
    assert max(messages.values()) <= 2


def _no_upload_stays_open(shape: Production) -> None:
    """Those that a killed process had begun and not recorded yet are the sweep's to abort."""
    backends = shape.backends
    swept = sweep_uploads(replace(backends, settings=replace(backends.settings, upload_age=0.0)))
    assert swept <= KILLED
    assert not shape.servers.s3.client().list_multipart_uploads(Bucket=BUCKET).get("Uploads")


def _follow_a_link(shape: Production) -> bytes:
    """What the API answers to the link of a message, given to it under its own address."""
    message = message_from_bytes(shape.servers.mail.last_message(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    body = message.get_body(("plain",))
    assert body is not None
    link = re.search(r"https://queries\.example\.org(/\S+)", body.get_content())
    assert link is not None
    return shape.api(link[1])
