"""Check the reports that the files declare, and those that follow a query's new version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.catalog.declared import DeclaredReport, DeclaredWorkspace
from queries_orchestration.catalog.openings import Openings
from queries_orchestration.catalog.piecewise import parse_piecewise
from queries_orchestration.catalog.plan import Planned, WorkspacePlan, same
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.source_names import SourceNames
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.reports import parse_report
from queries_orchestration.store import report_queries, sources
from queries_orchestration.store.report_queries import ReportQueries, ShownQuery
from queries_orchestration.store.sources import Source, SourceVersion

Shown = Mapping[str, ShownQuery]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCheck:
    """Checks the reports of one workspace, after its queries, and plans their versions."""

    connection: Connection
    shape: Shape
    now: datetime
    declared: DeclaredWorkspace
    plan: WorkspacePlan
    sources: SourceNames
    openings: Openings

    def report(self, declared: DeclaredReport) -> None:
        """Plan the report of a definition, or keep its faults."""
        what = f"the report `{declared.name}`"
        faults_before = len(self.shape.faults)
        self.sources.check_free("report", declared.name, declared.at, what, self.shape)
        shown: dict[str, ShownQuery] = {}
        pieces = dict(declared.pieces)
        sections = pieces.get("sections")
        if sections is not None and isinstance(sections.content, list):
            readable = [node for node in sections.content if self._finds(node, what, shown)]
            pieces["sections"] = replace(sections, content=readable)
            if len(readable) < len(sections.content):
                # What is left is read for its faults, but is not the report.
                declared = replace(declared, faulty=True)
            if sections.content and not readable:
                return
        if "sections" in pieces:
            queries = {
                name: self.openings.query(query.source.id, query.version).query
                for name, query in shown.items()
            }
            parse_piecewise(
                lambda pieces: parse_report(declared.definition(pieces), queries),
                pieces,
                at=declared.at,
                what=what,
                shape=self.shape,
            )
        if not declared.faulty and len(self.shape.faults) == faults_before:
            self._plan_declared(declared, shown)

    def follow(self, report: Source) -> None:
        """Give a report of the database a new version if a query that it shows has one.

        It is whose it was: only the versions of its queries change.
        """
        pinned = report_queries.of_version(
            self.connection, report.workspace_id, report.id, report.current_version
        )
        shown: dict[str, ShownQuery] = {}
        for name in pinned:
            query = self.sources.after("query", name)
            if query is None:
                return
            shown[name] = ShownQuery(query, query.current_version)
        newer = [name for name in shown if shown[name].version != pinned[name].version]
        current = self._current(report) if newer else None
        if current is None:
            return
        fits = [self._fits(report, current.definition, shown[name].source) for name in newer]
        if all(fits):
            after = replace(report, current_version=report.current_version + 1)
            self._plan_row(report, after, current.definition, shown)

    def _finds(self, section: Node, what: str, shown: dict[str, ShownQuery]) -> bool:
        """Take the query of a section into ``shown``; False if it cannot be read."""
        at = section.content.get("query") if isinstance(section.content, dict) else None
        if at is None or not isinstance(at.content, str) or not at.content:
            return True
        query = self.sources.find("query", at.content, at, what, self.shape)
        if query is None:
            return False
        try:
            self.openings.query(query.id, query.current_version)
        except Refused as error:
            self.shape.fault(at, f"{what}: the query `{query.name}` cannot be run: {error.message}")
            return False
        shown[query.name] = ShownQuery(query, query.current_version)
        return True

    def _plan_declared(self, declared: DeclaredReport, shown: Shown) -> None:
        definition = declared.definition(declared.pieces)
        workspace, take_over = self.plan.workspace.after, self.plan.workspace.take_over
        before = self.sources.stored("report", declared.name)
        current = self._current(before)
        same_definition = current is not None and same(current.definition, definition)
        number = before.current_version if before else 1
        if before is not None and not (same_definition and self._shows(before, shown)):
            number += 1
        after = Source(
            workspace_id=workspace.id,
            id=before.id if before else new_id(),
            name=declared.name,
            title=declared.title,
            kind="report",
            current_version=number,
            written_by="file",
        )
        says_the_same = before is not None and (
            (before.title, before.archived, same_definition) == (declared.title, False, True)
        )
        if before is not None and says_the_same and not take_over:
            # A new version of a query does not make the report another one's.
            after = replace(after, written_by=before.written_by)
        self._plan_row(before, after, definition, shown)

    def _plan_row(
        self, before: Source | None, after: Source, definition: dict[str, Any], shown: Shown
    ) -> None:
        self.sources.declare(after)
        self.openings.take_report(after.id, after.current_version, definition, shown)
        self.plan.reports.append(Planned(before, after, self.plan.workspace.take_over))
        if before is not None and after.current_version == before.current_version:
            return
        self.plan.versions.append(
            SourceVersion(
                workspace_id=after.workspace_id,
                source_id=after.id,
                version=after.current_version,
                dataset_id=None,
                definition=definition,
                created_at=self.now,
            )
        )
        self.plan.report_queries.append(
            ReportQueries(
                workspace_id=after.workspace_id,
                report_id=after.id,
                report_version=after.current_version,
                versions=_pins(shown),
            )
        )

    def _current(self, report: Source | None) -> SourceVersion | None:
        if report is None:
            return None
        return sources.version(
            self.connection, report.workspace_id, report.id, report.current_version
        )

    def _shows(self, report: Source, shown: Shown) -> bool:
        """Tell whether the report's current version shows exactly these versions of queries."""
        stored = report_queries.of_version(
            self.connection, report.workspace_id, report.id, report.current_version
        )
        return _pins(stored) == _pins(shown)

    def _fits(self, report: Source, definition: dict[str, Any], query: Source) -> bool:
        """Tell whether the sections of a report fit a query's new version, and keep the faults."""
        place = self.declared.queries.get(query.name, self.declared).at
        faults_before = len(self.shape.faults)
        for section in definition["sections"]:
            if section.get("query") != query.name:
                continue
            try:
                opened = self.openings.query(query.id, query.current_version)
                parse_report({**definition, "sections": [section]}, {query.name: opened.query})
            except Refused as error:
                reason = error.message.removeprefix("sections[0]").lstrip(".: ").rstrip(".")
                self.shape.fault(
                    place,
                    f"the query `{query.name}`: the report `{report.name}` no longer fits it,"
                    f' section "{section["title"]}": {reason}. Change the report together with it',
                )
        return len(self.shape.faults) == faults_before


def _pins(shown: Shown) -> dict[str, int]:
    return {query.source.id: query.version for query in shown.values()}
