"""The names of queries and reports: two kinds of sources in one space of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queries_orchestration.catalog.declared import DeclaredWorkspace
from queries_orchestration.catalog.names import Names
from queries_orchestration.catalog.prune import Surplus
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.model.formats import SourceKind
from queries_orchestration.store.sources import Source


class SourceNames:
    """The sources of a workspace as they are and as they will be after the apply."""

    def __init__(
        self, stored: Sequence[Source], declared: DeclaredWorkspace, surplus: Surplus | None
    ) -> None:
        def names(
            kind: SourceKind, defined: Mapping[str, object], pruned: Sequence[Source]
        ) -> Names[Source]:
            return Names(
                kind,
                [source for source in stored if source.kind == kind],
                defined,
                pruned={source.name for source in pruned},
            )

        self._names: Mapping[SourceKind, Names[Source]] = {
            "query": names("query", declared.queries, surplus.queries if surplus else ()),
            "report": names("report", declared.reports, surplus.reports if surplus else ()),
        }

    def stored(self, kind: SourceKind, name: str) -> Source | None:
        """Return the source of this kind that the database has now."""
        return self._names[kind].stored(name)

    def after(self, kind: SourceKind, name: str) -> Source | None:
        """Return the source as it will be; None if nothing has the name or it has faults."""
        return self._names[kind].after(name)

    def check_free(self, kind: SourceKind, name: str, at: Node, what: str, shape: Shape) -> None:
        """Keep a fault if the database has a source of the other kind by this name."""
        other = _other(kind)
        if self.stored(other, name) is not None:
            shape.fault(at, f"{what}: there is a {other} of this name")

    def declare(self, source: Source) -> None:
        """Take the source as the apply is going to leave it."""
        self._names[source.kind].declare(source)

    def find(self, kind: SourceKind, name: str, at: Node, what: str, shape: Shape) -> Source | None:
        """Return the source in use that ``what`` refers to.

        None is either a fault that is kept, or a definition that has faults of its own.
        """
        other = _other(kind)
        if name not in self._names[kind] and name in self._names[other]:
            shape.fault(at, f"{what}: `{name}` is a {other}, not a {kind}")
            return None
        source = self._names[kind].find(name, at, what, shape)
        if source is not None and source.archived:
            shape.fault(at, f"{what}: `{name}` is archived, not a {kind} that can be run")
            return None
        return source


def _other(kind: SourceKind) -> SourceKind:
    return "report" if kind == "query" else "query"
