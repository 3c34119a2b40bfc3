"""Check that a schedule's values fit its source, and that its owner can open it now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from queries_orchestration.catalog.declared import DeclaredSchedule
from queries_orchestration.catalog.openings import Openings, OpenQuery
from queries_orchestration.catalog.shape import Shape, suggestion
from queries_orchestration.catalog.yaml_file import shown
from queries_orchestration.model.access import Actor
from queries_orchestration.model.compile import compile_query
from queries_orchestration.model.errors import InvalidRuntimeValue, PermanentError, Refused
from queries_orchestration.model.report_values import given_values
from queries_orchestration.model.reports import ComparisonView, QuerySection
from queries_orchestration.model.runtime_values import Parameter, resolve_values
from queries_orchestration.store.people import Person
from queries_orchestration.store.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningCheck:
    """Checks one schedule; ``what`` names it for a person, ``time_zone`` is its own."""

    shape: Shape
    now: datetime
    time_zone: str
    openings: Openings
    declared: DeclaredSchedule
    what: str

    def check(self, source: Source, owner: Person | None, *, pin_kept: int | None) -> None:
        """Keep the faults of the values and of the owner's access.

        Args:
            source: as it is after the apply.
            owner: None if unknown: then only the values are checked.
            pin_kept: the version that the schedule stays pinned to; None if it gets the current.
        """
        actor = None
        if owner is not None and owner.active:
            actor = Actor(
                person_id=owner.id, name=owner.name, roles=owner.roles, active=owner.active
            )
        try:
            if source.kind == "query":
                self._check_query(source, actor, pin_kept or source.current_version)
            else:
                self._check_report(source, actor)
        except Refused as error:
            # What was good once and lost what it rests on is reported by the delivery.
            if pin_kept is None:
                self.shape.fault(
                    self.declared.node(source.kind),
                    f"{self.what}: the {source.kind} `{source.name}` cannot be run:"
                    f" {error.message}",
                )

    def _check_query(self, source: Source, actor: Actor | None, version: int) -> None:
        opened = self.openings.query(source.id, version)
        what = self.what
        if version != source.current_version:
            what += (
                f" (it runs version {version} of its query; once {source.current_version} is"
                " applied, `queries schedules repin` moves it there)"
            )
        values = self._values(what, source, opened.query.parameters)
        if actor is not None:
            self._compile(opened, actor, values, what, source, "")

    def _check_report(self, source: Source, actor: Actor | None) -> None:
        """Check the current version, which is what is rendered whatever the schedule's pin is."""
        opened = self.openings.report(source.id, source.current_version)
        faults_before = len(self.shape.faults)
        values = self._values(self.what, source, opened.report.parameters)
        values_fit = len(self.shape.faults) == faults_before
        for section in opened.report.sections:
            if not isinstance(section, QuerySection):
                continue
            query = opened.queries[section.query]
            parameters = query.query.parameters
            place = f'section "{section.title}": '
            wanted = [section.values]
            if isinstance(section.view, ComparisonView):
                wanted.append({**section.values, **section.view.previous})
            for section_values in wanted:
                exact: Mapping[str, object] = dict.fromkeys(one.name for one in parameters)
                try:
                    if values_fit:
                        given = given_values(section_values, values)
                        exact = resolve_values(
                            parameters, given, moment=self.now, time_zone=self.time_zone
                        )
                except InvalidRuntimeValue as error:
                    at = self.declared.node("values")
                    self.shape.fault(at, f"{self.what}: {place}{error.message}")
                if actor is not None:
                    self._compile(query, actor, exact, self.what, source, place)

    def _compile(
        self,
        opened: OpenQuery,
        actor: Actor,
        values: Mapping[str, object],
        what: str,
        source: Source,
        place: str,
    ) -> None:
        try:
            compile_query(opened.query, opened.dataset, actor, values)
        except InvalidRuntimeValue as error:
            self.shape.fault(self.declared.node("values"), f"{what}: {place}{error.message}")
        except PermanentError as error:
            self.shape.fault(
                self.declared.node("owner"),
                f"{what}: its owner cannot open the {source.kind} `{source.name}`:"
                f" {place}{error.message}",
            )

    def _values(
        self, what: str, source: Source, parameters: Sequence[Parameter]
    ) -> dict[str, object]:
        """Return the exact values; one that is at fault counts as none."""
        at = self.declared.node("values")
        nodes = (
            at.content if "values" in self.declared.nodes and isinstance(at.content, dict) else {}
        )
        names = [parameter.name for parameter in parameters]
        for name, node in nodes.items():
            if name not in names:
                known = suggestion(name, names)
                self.shape.fault(
                    node,
                    f"{what}: the {source.kind} `{source.name}` has no parameter"
                    f" {shown(name)}{known}",
                )
        values: dict[str, object] = dict.fromkeys(names)
        for parameter in parameters:
            given = {name: node.plain() for name, node in nodes.items() if name == parameter.name}
            try:
                values |= resolve_values(
                    [parameter], given, moment=self.now, time_zone=self.time_zone
                )
            except InvalidRuntimeValue as error:
                self.shape.fault(nodes.get(parameter.name, at), f"{what}: {error.message}")
        return values
