"""What happens in the simulated month beside the schedules: people, edits, clicks, outages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeAlias

from queries_orchestration_tests.simulation.organisation import (
    END,
    OWNERS,
    READERS,
    START,
    WORKSPACES,
    Organisation,
    Spec,
    draw_rule,
)
from queries_orchestration_tests.simulation.rules import Rule

_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChanges:
    """A person leaves, loses the access or the address, or returns."""

    at: datetime
    workspace: str
    person: str
    what: str
    to: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    at: datetime
    schedule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """Somebody resumes this share of what is paused."""

    at: datetime
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The schedule's rule or recipients are others from now on."""

    at: datetime
    schedule: str
    rule: Rule | None = None
    recipients: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """A person runs a schedule now."""

    at: datetime
    schedule: str
    person: str
    label: str


Happening: TypeAlias = PersonChanges | Pause | Mend | Edit | Click


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time without dispatcher passes, or without workers."""

    what: str
    begins: datetime
    ends: datetime

    def covers(self, at: datetime) -> bool:
        return self.begins <= at < self.ends


def draw_happenings(random: Random, organisation: Organisation) -> list[Happening]:
    """Draw what happens, in order."""
    specs = organisation.specs
    some = max(4, len(specs) // 10)
    found: list[Happening] = []
    for workspace in WORKSPACES:
        for person in (*OWNERS[:2], *READERS):
            found += _absence(random, workspace, person)
    for spec in random.sample(specs, k=some):
        found.append(Pause(at=_moment(random), schedule=spec.name))
    for spec in random.sample(specs, k=some):
        zone = spec.rule.zone
        rule = draw_rule(random, zone, frequent=spec.is_frequent)
        found.append(Edit(at=_moment(random), schedule=spec.name, rule=rule))
    for spec in random.sample(specs, k=some):
        fewer = tuple(random.sample(READERS, k=1))
        found.append(Edit(at=_moment(random), schedule=spec.name, recipients=fewer))
    for day in (5, 9, 13, 17, 20, 22, 24):
        found.append(Mend(at=START + day * _DAY + 5 * _MINUTE, share=0.7))
    reports = [spec for spec in specs if spec.is_report]
    for number, spec in enumerate([*random.sample(specs, k=some), *reports]):
        found.append(_click(random, number, spec))
    in_time = [one for one in found if one.at < END - _DAY]
    return sorted(in_time, key=lambda one: (one.at, repr(one)))


def draw_outages(random: Random) -> tuple[Outage, ...]:
    """Draw when nothing dispatches, a few minutes and more than a day, and when nobody works."""
    short = datetime(2027, 3, 28, tzinfo=START.tzinfo) + random.randrange(0, 120) * _MINUTE
    long = datetime(2027, 4, 3, 11, tzinfo=START.tzinfo) + random.randrange(0, 120) * _MINUTE
    idle = datetime(2027, 3, 14, 3, tzinfo=START.tzinfo) + random.randrange(0, 120) * _MINUTE
    return (
        Outage(what="dispatcher", begins=short, ends=short + 25 * _MINUTE),
        Outage(what="dispatcher", begins=long, ends=long + 27 * _HOUR),
        Outage(what="workers", begins=idle, ends=idle + 17 * _HOUR),
    )


def _absence(random: Random, workspace: str, person: str) -> list[Happening]:
    owner = person in OWNERS
    what = random.choice(("active", "author") if owner else ("active", "address"))
    away = _moment(random)
    back = away + random.randrange(1, 5) * _DAY
    return [
        PersonChanges(at=away, workspace=workspace, person=person, what=what, to=False),
        PersonChanges(at=back, workspace=workspace, person=person, what=what, to=True),
    ]


def _click(random: Random, number: int, spec: Spec) -> Click:
    person = random.choice((spec.owner, spec.owner, "boss", READERS[0]))
    return Click(at=_moment(random), schedule=spec.name, person=person, label=f"click {number}")


def _moment(random: Random) -> datetime:
    """Return a whole half hour, at which something may be due, or a minute after."""
    minutes = random.randrange(0, int((END - START) / _MINUTE) - 3 * 24 * 60, 30)
    return START + minutes * _MINUTE + random.choice((0, 1)) * _MINUTE
