"""The organisation that is simulated: workspaces, people and schedules, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from random import Random
from typing import Any, Final

from queries_orchestration_tests.simulation.rules import Rule

START: Final = datetime(2027, 3, 12, tzinfo=UTC)
END: Final = datetime(2027, 4, 8, tzinfo=UTC)
"""Four weeks in which clocks go forward in the north and back in the south."""

ZONES: Final = {
    "America/New_York": date(2027, 3, 14),
    "America/Los_Angeles": date(2027, 3, 14),
    "America/Havana": date(2027, 3, 14),  # at midnight: that day has no 00:30
    "Asia/Jerusalem": date(2027, 3, 26),
    "Europe/Berlin": date(2027, 3, 28),
    "Europe/London": date(2027, 3, 28),
    "America/Santiago": date(2027, 4, 3),  # back at midnight: 23:30 comes twice
    "Australia/Sydney": date(2027, 4, 4),
    "Australia/Lord_Howe": date(2027, 4, 4),  # by half an hour
    "Pacific/Auckland": date(2027, 4, 4),
    "Asia/Kolkata": date(2027, 3, 21),  # never changes
    "UTC": date(2027, 3, 21),
}
"""Each zone with the local date on which its clocks change."""

WORKSPACES: Final = ("acme", "brook", "cedar")
OWNERS: Final = ("olga", "omar", "otto")
READERS: Final = ("rea", "rob", "ron", "rut", "ray")
PEOPLE: Final = ("boss", *OWNERS, *READERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A schedule as it is set up; ``recipients`` and ``rule`` are edited later."""

    workspace: str
    name: str
    rule: Rule
    owner: str
    recipients: tuple[str, ...]
    source: str
    skip_empty: bool
    missed_slots: str
    lateness_limit: int | None

    @property
    def is_report(self) -> bool:
        return self.source == "sales"

    @property
    def is_frequent(self) -> bool:
        """Whether it has slots enough for five failures in a row."""
        return bool(self.rule.every_hours)


@dataclass(slots=True, kw_only=True)
class Person:
    """What decides of a person: whether they are there, may read, and have an address."""

    name: str
    active: bool = True
    author: bool = False
    address: bool = True

    def definition(self, workspace: str) -> dict[str, Any]:
        """Return the person as the catalog writes one."""
        administers = ["administrator"] if self.name == "boss" else []
        given = {"address": address_of(workspace, self.name)} if self.address else {}
        return {
            "title": self.name.title(),
            "roles": administers + (["author"] if self.author else ["reader"]),
            "active": self.active,
            **given,
        }


@dataclass(frozen=True, kw_only=True)
class Organisation:
    """Everybody and every schedule, as they begin."""

    specs: tuple[Spec, ...]
    people: dict[str, dict[str, Person]] = field(default_factory=dict)

    def catalog(self, workspace: str) -> dict[str, Any]:
        """Return the catalog of a workspace."""
        return _FRAME | {
            "workspace": heading(workspace),
            "people": {
                name: person.definition(workspace)
                for name, person in self.people[workspace].items()
            },
            "schedules": {
                spec.name: definition(spec, spec.rule, spec.recipients)
                for spec in self.specs
                if spec.workspace == workspace
            },
        }


def draw_organisation(random: Random, schedules: int) -> Organisation:
    """Draw ``schedules`` schedules in every zone and workspace."""
    zones = list(ZONES)
    specs = tuple(_draw(random, number, zones[number % len(zones)]) for number in range(schedules))
    people = {
        workspace: {
            name: Person(name=name, author=name not in READERS, active=name != "ray")
            for name in PEOPLE
        }
        for workspace in WORKSPACES
    }
    return Organisation(specs=specs, people=people)


def address_of(workspace: str, name: str) -> str:
    """Return the address of a person, by which a message tells whose it is."""
    return f"{name}@{workspace}.example"


def heading(workspace: str) -> dict[str, str]:
    """Return how each catalog file begins."""
    return {"name": workspace, "title": workspace.title(), "time_zone": "Europe/Berlin"}


def definition(spec: Spec, rule: Rule, recipients: tuple[str, ...]) -> dict[str, Any]:
    """Return a schedule as the catalog writes one."""
    written: dict[str, Any] = {
        "title": spec.name,
        "report" if spec.is_report else "query": spec.source,
        "owner": spec.owner,
        "cron": rule.cron,
        "time_zone": rule.zone,
        "format": "xlsx" if spec.is_report else "csv",
        "recipients": list(recipients),
        "missed_slots": spec.missed_slots,
    }
    if spec.skip_empty:
        written["skip_empty"] = True
    if spec.lateness_limit is not None:
        written["lateness_limit"] = spec.lateness_limit
    if rule.ends_on is not None:
        written["ends_on"] = rule.ends_on
    return written


def draw_rule(random: Random, zone: str, *, frequent: bool = False) -> Rule:
    """Draw a rule whose slots lie around the change of the zone's clocks."""
    changes = ZONES[zone]
    if frequent:
        return Rule(zone=zone, minute=0, every_hours=random.choice((6, 8)), week_days=(0,))
    hours = (random.choice((0, 1, 2, 3, 8, 23)),)
    if random.random() < 0.8:
        days = (changes.day, (changes.day % 28) + 1)[: random.choice((1, 1, 1, 2))]
        return Rule(zone=zone, minute=30, hours=hours, month_days=tuple(sorted(days)))
    ends_on = random.choice((None, None, None, changes))
    week_day = changes.isoweekday() % 7
    return Rule(zone=zone, minute=30, hours=hours, week_days=(week_day,), ends_on=ends_on)


def _draw(random: Random, number: int, zone: str) -> Spec:
    is_report = number % 50 == 7
    source = "sales" if is_report else random.choice(("all-orders",) * 5 + ("no-orders",))
    return Spec(
        workspace=WORKSPACES[number % len(WORKSPACES)],
        name=f"s{number:03}",
        rule=draw_rule(random, zone, frequent=number % 33 == 3),
        owner=random.choice(OWNERS),
        recipients=tuple(random.sample((*READERS, "boss"), k=random.choice((1, 1, 1, 1, 2, 2, 3)))),
        source=source,
        skip_empty=source == "no-orders" and random.random() < 0.7,
        missed_slots=random.choice(("latest", "latest", "all", "none")),
        lateness_limit=random.choice((None, None, None, 3600)),
    )


_FRAME: Final[dict[str, Any]] = {
    "connections": {"shop": {"url_variable": "SHOP_URL"}},
    "datasets": {
        "orders": {
            "title": "Orders",
            "connection": "shop",
            "relation": "orders",
            "fields": {
                "id": {"type": "integer", "nullable": False},
                "region": {"type": "text"},
                "amount": {"type": "decimal"},
            },
            "key": ["id"],
            "access": [{"who": {"roles": ["author"]}, "fields": "all", "rows": "all"}],
        }
    },
    "queries": {
        "all-orders": {
            "title": "All orders",
            "dataset": "orders",
            "fields": [{"field": "id"}, {"field": "region"}],
        },
        "no-orders": {
            "title": "Orders of nobody",
            "dataset": "orders",
            "fields": [{"field": "id"}],
            "filters": [{"field": "region", "op": "eq", "value": "nowhere"}],
        },
    },
    "reports": {
        "sales": {
            "title": "Sales",
            "sections": [{"show": "table", "title": "Orders", "query": "all-orders"}],
        }
    },
}
