"""What the names in the files refer to: rows of the same files, else rows of the database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from queries_orchestration.catalog.shape import NAME, Shape, suggestion
from queries_orchestration.catalog.yaml_file import Node, shown


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=_Named)


class Names(Generic[Row]):
    """The rows of one kind by name; ``kind`` names one of them for a person.

    Nothing may refer to those of the names ``pruned``.
    """

    def __init__(
        self,
        kind: str,
        stored: Iterable[Row],
        declared: Mapping[str, object],
        pruned: Collection[str] = (),
    ) -> None:
        self._kind = kind
        self._pruned = pruned
        self._stored = {row.name: row for row in stored}
        self._rows: dict[str, Row | None] = {**self._stored, **dict.fromkeys(declared)}

    def __contains__(self, name: str) -> bool:
        """Tell whether a row or a definition has the name."""
        return name in self._rows

    def stored(self, name: str) -> Row | None:
        """Return the row that the database has now."""
        return self._stored.get(name)

    def after(self, name: str) -> Row | None:
        """Return the row as it will be; None if nothing has the name or it has faults."""
        return self._rows.get(name)

    def all_after(self) -> list[Row]:
        """Return the rows as they will be, those without faults."""
        return [row for row in self._rows.values() if row is not None]

    def declare(self, row: Row) -> None:
        """Take the row that the files make of a definition without faults."""
        self._rows[row.name] = row

    def find(self, name: str, at: Node, what: str, shape: Shape) -> Row | None:
        """Return the row that ``what`` refers to.

        None is either a name that nothing has or that is pruned, then a fault is kept, or a
        definition that has faults of its own.
        """
        if not name:
            return None
        if name not in self._rows:
            # An address in the place of a name is not repeated.
            known = suggestion(name, self._rows) if NAME.fullmatch(name) else ""
            shape.fault(at, f"{what}: there is no {self._kind} {shown(name)}{known}")
            return None
        if name in self._pruned:
            shape.fault(
                at,
                f"{what}: --prune takes the {self._kind} `{name}` away, as no file defines it:"
                " define it, or do not refer to it",
            )
            return None
        return self._rows[name]
