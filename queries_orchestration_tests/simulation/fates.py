"""What each receive meets, drawn from the seed and the work's own name.

Never from the order of things: ids are new in every run, so that work of the same instant may be
taken in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from queries_orchestration_tests.simulation.organisation import START, Spec

FILE_STEPS: Final = (
    "upload begun, not recorded",
    "upload recorded",
    "page written",
    "written, not complete",
    "file complete, not recorded",
    "file recorded",
)
"""The named steps in which a file is made, in order."""
SETTLED: Final = "failure settled, nobody told"
RENDER_AWAITED: Final = ("render awaited",)
SENDING_STEPS: Final = (
    "sending recorded",
    "further submission noted",
    "not taken, not recorded",
    "submitted, not recorded",
    "recipient concluded",
)
RENDER_STEPS: Final = ("started", *FILE_STEPS)
NOTICE_STEPS: Final = ("notice begun, not submitted", "notice submitted, not recorded")
PASS_STEPS: Final = (
    "admitted, not committed",
    "marked expired, not removed",
    "before offering",
    "offers made",
)
CLICK_STEPS: Final = (
    "run now, not committed",
    "run now committed, not published",
    "offered, not launched",
)
_SPELL: Final = timedelta(days=17)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What happens to one process.

    Args:
        dies_at: the named step at which it is killed, when it is there the ``time``-th time.
        source: ``up``, ``down`` (transient) or ``broken`` (for good).
        storage: ``up``, ``down`` at the ``begin`` or ``end`` of an upload, or ``odd``: an error
            that nobody foresaw.
        mail: ``up``, ``down``, or ``lost``: the message is taken, the answer never comes.
        mail_turn: which submission of the receive that happens to; 0: all.
    """

    dies_at: str | None = None
    time: int = 1
    source: str = "up"
    storage: str = "up"
    mail: str = "up"
    mail_turn: int = 0


class Fates:
    """All fates of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def random(self, *words: object) -> Random:
        """Return chance that depends on the seed and these words alone."""
        return Random("/".join(map(str, (self._seed, *words))))

    def of_receive(self, spec: Spec, label: str, number: int, slot: datetime | None) -> Fate:
        """Return what a receive of an occurrence meets."""
        if spec.is_frequent and self._in_spell(spec, slot):
            return Fate(source="broken")
        making = RENDER_AWAITED if spec.is_report else FILE_STEPS
        steps = ("started", "resolved", *making, *2 * SENDING_STEPS, SETTLED)
        lasting = self.random("lasting", spec.name, label)
        if lasting.random() < 0.06:
            return _trouble(lasting, steps)
        passing = self.random("passing", spec.name, label, number)
        if passing.random() < 0.2:
            return _trouble(passing, steps)
        again = self.random("again", spec.name, label, number)
        if number > 1 and again.random() < 0.3:
            return Fate(dies_at="further submission noted")
        return Fate()

    def of_render(self, spec: Spec, label: str, number: int) -> Fate:
        """Return what a receive of a report's render meets."""
        chance = self.random("render", spec.name, label, number)
        return _trouble(chance, RENDER_STEPS) if chance.random() < 0.35 else Fate()

    def of_pass(self, at: datetime) -> Fate:
        """Return at which step a pass is killed, if at any."""
        chance = self.random("pass", at.isoformat())
        if chance.random() < 0.07:
            return Fate(dies_at=chance.choice(PASS_STEPS))
        telling = self.random("notices", at.isoformat())
        return Fate(dies_at=telling.choice(NOTICE_STEPS)) if telling.random() < 0.2 else Fate()

    def of_click(self, label: str) -> Fate:
        """Return at which step the process of a click is killed, if at any."""
        chance = self.random("click", label)
        return Fate(dies_at=chance.choice(CLICK_STEPS)) if chance.random() < 0.3 else Fate()

    def refuses(self, spec: Spec, label: str, person: str) -> bool:
        """Whether the mail server refuses this message to this person for good."""
        everybody = self.random("all refused", spec.name, label).random() < 0.02
        return everybody or self.random("refused", spec.name, label, person).random() < 0.02

    def _in_spell(self, spec: Spec, slot: datetime | None) -> bool:
        """Whether the source of a frequent schedule is broken for weeks."""
        return slot is not None and slot < START + _SPELL and int(spec.name[1:]) % 2 == 0


def _trouble(chance: Random, steps: tuple[str, ...]) -> Fate:
    kind = chance.choice(("kill", "kill", "source", "storage", "mail", "mail"))
    if kind == "source":
        return Fate(source=chance.choice(("down", "broken")))
    if kind == "storage":
        return Fate(storage=chance.choice(("begin", "end", "odd")))
    if kind == "mail":
        return Fate(mail=chance.choice(("down", "lost")), mail_turn=chance.choice((0, 1, 2)))
    step = chance.choice(steps)
    if step == "not taken, not recorded":
        return Fate(dies_at=step, mail="down", mail_turn=chance.choice((0, 1, 2)))
    if step == SETTLED:
        return Fate(dies_at=step, source="broken")
    return Fate(dies_at=step, time=chance.choice((1, 1, 2)) if step in SENDING_STEPS else 1)
