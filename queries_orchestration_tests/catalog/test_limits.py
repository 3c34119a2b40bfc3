"""The limits of a workspace: said, changed, left as they are, taken away, refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queries_orchestration.store import workspaces
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import GOOD, Apply, Refuse, workspace_of

LIMITS = "export_bytes: 500000000000, export_seconds: 600, statement_seconds: 120"
FIRST_LINE, REST = GOOD.split("\n", 1)


def with_limits(limits: str) -> str:
    """Return the good catalog with the limits of its workspace."""
    return FIRST_LINE.replace("}", f", limits: {{{limits}}}}}") + "\n" + REST


def limits_of(database: Database) -> tuple[int | None, int | None, int | None]:
    row = workspace_of(database)
    return (row.export_bytes, row.export_seconds, row.statement_seconds)


def test_a_workspace_has_no_limits_but_those_that_are_said(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    assert limits_of(database) == (None, None, None)

    changes = apply(with_limits(LIMITS))

    assert changes.workspaces.changed == ("acme",)
    assert limits_of(database) == (500_000_000_000, 600, 120)
    assert apply(with_limits(LIMITS)).workspaces.unchanged == ("acme",)


def test_files_that_say_nothing_of_limits_leave_them(apply: Apply, database: Database) -> None:
    apply(with_limits(LIMITS))

    assert apply(GOOD).workspaces.unchanged == ("acme",)

    assert limits_of(database) == (500_000_000_000, 600, 120)


def test_a_limit_that_is_not_said_any_more_is_none(apply: Apply, database: Database) -> None:
    apply(with_limits(LIMITS))

    assert apply(with_limits("export_seconds: 60")).workspaces.changed == ("acme",)
    assert limits_of(database) == (None, 60, None)
    apply(with_limits("export_seconds: null, statement_seconds: 1"))
    assert limits_of(database) == (None, None, 1)
    apply(with_limits(""))
    assert limits_of(database) == (None, None, None)


def test_all_documents_must_say_the_same_limits(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(with_limits(LIMITS), "workspace: {name: acme, limits: {" + LIMITS + "}}\n")
    assert limits_of(database) == (500_000_000_000, 600, 120)

    (fault,) = faults_of(with_limits(LIMITS), "workspace: {name: acme, limits: {}}\n")

    assert "the workspace `acme` has another limits at" in fault.message


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("export_bytes: 0", "`export_bytes` of the workspace's limits must be from 1 to"),
        ("export_bytes: 9223372036854775808", "must be from 1 to 9223372036854775807"),
        ("export_seconds: 2147483648", "must be from 1 to 2147483647"),
        ("statement_seconds: -1", "must be from 1 to"),
        ("export_seconds: 1.5", "must be a whole number"),
        ("export_seconds: soon", "must be a whole number"),
        ("export_rows: 5", "`limits` of the workspace has no key `export_rows`"),
    ],
)
def test_what_is_no_limit_is_a_fault(faults_of: Refuse, limits: str, told: str) -> None:
    (fault,) = faults_of(with_limits(limits))

    assert told in fault.message
    assert fault.line == 1


def test_limits_that_somebody_else_wrote_are_a_conflict_that_names_them(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(with_limits(LIMITS))
    with database.across.transaction() as connection:
        row = workspaces.by_name(connection, "acme")
        assert row is not None
        workspaces.change(connection, replace(row, export_seconds=30, written_by="other"))

    (fault,) = faults_of(with_limits(LIMITS))

    assert "here is another export_seconds:" in fault.message
    apply(with_limits(LIMITS), take_over=True)
    assert limits_of(database) == (500_000_000_000, 600, 120)
