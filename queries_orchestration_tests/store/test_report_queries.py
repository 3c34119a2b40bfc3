"""Which version of each query a version of a report shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.formats import SourceKind
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import report_queries, sources, workspaces
from queries_orchestration.store.database import Database
from queries_orchestration.store.removal import remove
from queries_orchestration.store.report_queries import ReportQueries, ShownQuery
from queries_orchestration.store.sources import Source, SourceVersion
from queries_orchestration.store.tables import report_queries as report_queries_table
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration_tests.store.valid_rows import SLOT


def new_workspace(connection: Connection, name: str) -> Workspace:
    workspace = Workspace(id=new_id(), name=name, title=name, time_zone="UTC")
    workspaces.insert(connection, workspace)
    return workspace


def new_source(
    connection: Connection, workspace: Workspace, name: str, kind: SourceKind, versions: int
) -> Source:
    """Insert a source with some versions; return it with the last as its current one."""
    source = Source(
        workspace_id=workspace.id,
        id=new_id(),
        name=name,
        title=name,
        kind=kind,
        current_version=1,
    )
    sources.insert(connection, source)
    for number in range(1, versions + 1):
        sources.add_version(
            connection,
            SourceVersion(
                workspace_id=workspace.id,
                source_id=source.id,
                version=number,
                dataset_id=None,
                definition={},
                created_at=SLOT,
            ),
        )
    return replace(source, current_version=versions)


def show(connection: Connection, report: Source, version: int, versions: dict[str, int]) -> None:
    report_queries.insert(
        connection,
        ReportQueries(
            workspace_id=report.workspace_id,
            report_id=report.id,
            report_version=version,
            versions=versions,
        ),
    )


def test_each_version_of_a_report_shows_its_own_versions_of_queries(database: Database) -> None:
    with database.across.transaction() as connection:
        workspace = new_workspace(connection, "acme")
        delays = new_source(connection, workspace, "delays", "query", 2)
        totals = new_source(connection, workspace, "totals", "query", 1)
        report = new_source(connection, workspace, "summary", "report", 3)
        show(connection, report, 1, {delays.id: 1, totals.id: 1})
        show(connection, report, 2, {delays.id: 2})
        show(connection, report, 3, {})
        archived = replace(totals, archived=True)
        sources.change(connection, archived)
    with database.across.read() as connection:
        first, second, third, unknown = (
            report_queries.of_version(connection, workspace.id, report.id, number)
            for number in (1, 2, 3, 4)
        )
    assert first == {"delays": ShownQuery(delays, 1), "totals": ShownQuery(archived, 1)}
    assert second == {"delays": ShownQuery(delays, 2)}
    assert third == unknown == {}


def test_a_report_of_another_workspace_shows_nothing(database: Database) -> None:
    with database.across.transaction() as connection:
        workspace, other = (new_workspace(connection, name) for name in ("acme", "other"))
        query = new_source(connection, workspace, "delays", "query", 1)
        report = new_source(connection, workspace, "summary", "report", 1)
        show(connection, report, 1, {query.id: 1})
        assert report_queries.of_version(connection, other.id, report.id, 1) == {}


def test_a_version_that_is_not_there_cannot_be_shown(database: Database) -> None:
    with database.across.transaction() as connection:
        workspace = new_workspace(connection, "acme")
        query = new_source(connection, workspace, "delays", "query", 1)
        report = new_source(connection, workspace, "summary", "report", 1)
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        show(connection, report, 1, {query.id: 2})
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        show(connection, report, 2, {query.id: 1})


def test_a_query_that_any_version_of_a_report_shows_cannot_be_removed_before_the_report(
    database: Database,
) -> None:
    with database.across.transaction() as connection:
        workspace = new_workspace(connection, "acme")
        query = new_source(connection, workspace, "delays", "query", 2)
        report = new_source(connection, workspace, "summary", "report", 2)
        show(connection, report, 1, {query.id: 1})
        show(connection, report, 2, {})
    with database.across.transaction() as connection:
        assert not remove(connection, query)
        assert sources.get(connection, workspace.id, query.id) == query
        assert sources.version(connection, workspace.id, query.id, 1) is not None
        assert report_queries.of_version(connection, workspace.id, report.id, 1) == {
            "delays": ShownQuery(query, 1)
        }
        assert remove(connection, report)
        assert remove(connection, query)
        assert sources.listing(connection, workspace.id) == []


def test_the_removal_of_a_report_leaves_what_other_reports_show(database: Database) -> None:
    with database.across.transaction() as connection:
        workspace = new_workspace(connection, "acme")
        query = new_source(connection, workspace, "delays", "query", 1)
        report = new_source(connection, workspace, "summary", "report", 1)
        other = new_source(connection, workspace, "another", "report", 1)
        for one in (report, other):
            show(connection, one, 1, {query.id: 1})
    with database.across.transaction() as connection:
        assert remove(connection, report)
        assert sources.version(connection, workspace.id, report.id, 1) is None
        assert connection.scalar(select(func.count()).select_from(report_queries_table)) == 1
        assert not remove(connection, query)
        assert report_queries.of_version(connection, workspace.id, other.id, 1) == {
            "delays": ShownQuery(query, 1)
        }
