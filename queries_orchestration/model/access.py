"""Who may see what of a dataset.

The first rule that matches a person applies, alone. A union of all that match would show the
rows of one rule with the fields of another, which neither of them grants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from queries_orchestration.model.errors import AccessLost
from queries_orchestration.model.fields import Field
from queries_orchestration.model.filters import Filter, parse_filter
from queries_orchestration.model.parts import Part

if TYPE_CHECKING:
    from queries_orchestration.model.datasets import Dataset

AUTHOR: Final = "author"
"""The role that makes schedules of its own."""
ADMINISTRATOR: Final = "administrator"
"""The role that governs every schedule of its workspace."""
WHO_READS: Final = "the person as whom it is read"
"""How messages say who it is: they are kept with history, which names nobody."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The person as whom a source is opened."""

    person_id: str
    name: str
    roles: frozenset[str]
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """Gives some people some fields of some rows; ``row_filters`` must all hold."""

    everyone: bool
    roles: frozenset[str]
    people: frozenset[str]
    fields: frozenset[str]
    row_filters: tuple[Filter, ...]

    def matches(self, actor: Actor) -> bool:
        """Tell whether the rule speaks of this person."""
        return self.everyone or actor.name in self.people or not self.roles.isdisjoint(actor.roles)


@dataclass(frozen=True, slots=True)
class Access:
    """What one person may see of a dataset now."""

    fields: frozenset[str]
    row_filters: tuple[Filter, ...]


def check_active(actor: Actor) -> None:
    """Let nobody who was deactivated open anything.

    Raises:
        AccessLost: the actor is not active (``actor_inactive``).
    """
    if not actor.active:
        raise AccessLost(
            f"{WHO_READS.capitalize()} is not active and can open nothing.", code="actor_inactive"
        )


def access_of(dataset: Dataset, actor: Actor) -> Access:
    """Return what the actor may see of the dataset.

    Raises:
        AccessLost: the actor is not active (``actor_inactive``) or no rule matches
            (``access_lost``).
    """
    check_active(actor)
    for rule in dataset.access:
        if rule.matches(actor):
            return Access(rule.fields, rule.row_filters)
    raise AccessLost(
        f"{WHO_READS.capitalize()} has no access to the dataset {dataset.name}."
        " An administrator can grant it in the dataset's access rules."
    )


def parse_access_rule(part: Part, fields: Mapping[str, Field]) -> AccessRule:
    """Read one access rule of a dataset's definition.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    pieces = part.mapping(required=["who", "fields", "rows"])
    who = pieces["who"].mapping(optional=["roles", "people", "everyone"])
    everyone = "everyone" in who
    if everyone and (len(who) > 1 or not who["everyone"].flag()):
        raise who["everyone"].refuse("must be true and stand alone")
    if not who:
        raise pieces["who"].refuse("must name roles or people, or say everyone: true")
    return AccessRule(
        everyone=everyone,
        roles=_names(who.get("roles")),
        people=_names(who.get("people")),
        fields=_granted_fields(pieces["fields"], fields),
        row_filters=_row_filters(pieces["rows"], fields),
    )


def _names(part: Part | None) -> frozenset[str]:
    return frozenset(item.text() for item in part.items()) if part is not None else frozenset()


def _granted_fields(part: Part, fields: Mapping[str, Field]) -> frozenset[str]:
    if part.value == "all":
        return frozenset(fields)
    return frozenset(item.choice(fields) for item in part.items())


def _row_filters(part: Part, fields: Mapping[str, Field]) -> tuple[Filter, ...]:
    if part.value == "all":
        return ()
    return tuple(parse_filter(item, fields, {}) for item in part.items())
