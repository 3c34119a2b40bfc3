"""The independent model: written from the table of outcomes, with none of the product's rules.

It is told what the world did (when a pass ran, whom a receive of which number met) and says what
must come of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from queries_orchestration_tests.simulation.organisation import Organisation, Person, Spec
from queries_orchestration_tests.simulation.rules import Rule
from queries_orchestration_tests.simulation.work import Claim, Notice, Work

FAILURES_THAT_PAUSE: Final = 5
_A_WEEK: Final = timedelta(days=7)
_PUNCTUAL: Final = timedelta(minutes=10)


@dataclass(slots=True, kw_only=True)
class Modelled:
    """A schedule as it must be, with the story that a failure is told with."""

    spec: Spec
    rule: Rule
    recipients: tuple[str, ...]
    next_slot: datetime | None
    state: str = "active"
    pause_code: str | None = None
    streak: int = 0
    works: list[Work] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    story: list[str] = field(default_factory=list)

    def tell(self, at: datetime, what: str) -> None:
        self.story.append(f"{at:%d %b %H:%M}  {what}")

    def told(self) -> str:
        """Return the whole story."""
        rule = f"{self.spec.workspace} {self.spec.name}: {self.rule.cron} in {self.rule.zone}"
        return "\n  ".join((rule, *self.story))

    def pause(self, at: datetime, code: str) -> bool:
        """Pause what is active; False if it was not."""
        if self.state != "active":
            return False
        self.state, self.pause_code, self.next_slot = "paused", code, None
        self.tell(at, f"is paused: {code}")
        return True

    def must_wait(self, work: Work) -> bool:
        """Whether an earlier slot is not settled yet."""
        return work.slot is not None and any(
            other.slot < work.slot and other.outcome is None
            for other in self.works
            if other.slot is not None
        )


def hold(got: object, expected: object, one: Modelled) -> None:
    """Compare what the product did with what the model says; a failure tells the story.

    Raises:
        AssertionError: they differ.
    """
    assert got == expected, f"{got} instead of {expected}\n{one.told()}"


class Model:
    """Every schedule and person, as they must be."""

    def __init__(self, organisation: Organisation, at: datetime) -> None:
        self.people = organisation.people
        self.schedules = {
            spec.name: Modelled(
                spec=spec,
                rule=spec.rule,
                recipients=spec.recipients,
                next_slot=spec.rule.next_after(at),
            )
            for spec in organisation.specs
        }

    def person(self, one: Modelled, name: str) -> Person:
        return self.people[one.spec.workspace][name]

    def refusal(self, one: Modelled, name: str) -> str | None:
        """Return why a person may not open a source now."""
        person = self.person(one, name)
        if not person.active:
            return "actor_inactive"
        return None if person.author else "access_lost"

    def unsettled(self) -> Iterator[tuple[Modelled, Work]]:
        for one in self.schedules.values():
            for work in one.works:
                is_rendering = work.render is not None and not work.render.claim.is_done
                if work.outcome is None or is_rendering:
                    yield one, work

    def next_moment(self) -> datetime | None:
        """Return the next moment at which something may happen by itself; it may be over."""
        moments = [one.next_slot for one in self.schedules.values()]
        for one, work in self.unsettled():
            if not one.must_wait(work):
                moments.append(work.claim.next_moment())
            if work.render is not None:
                moments.append(work.render.claim.next_moment())
        return min((moment for moment in moments if moment is not None), default=None)

    def admit(self, at: datetime) -> None:
        """Tell that a pass committed what is due."""
        for one in self.schedules.values():
            if one.next_slot is None or one.next_slot > at:
                continue
            due = one.rule.due(one.next_slot, at)
            one.next_slot = one.rule.next_after(at)
            for slot in due:
                self._admit(one, slot, is_newest=slot == due[-1], at=at)
            if one.next_slot is None:
                one.state = "ended"
                one.tell(at, "has ended")

    def _admit(self, one: Modelled, slot: datetime, *, is_newest: bool, at: datetime) -> None:
        work = Work(label=f"{slot:%Y%m%dT%H%M}", slot=slot, claim=Claim(not_before=at))
        one.works.append(work)
        if _is_missed(one.spec, at - slot, is_newest=is_newest):
            work.settle("missed")
            one.tell(at, f"{work.label} is missed")
            return
        one.tell(at, f"{work.label} is admitted")
        if one.spec.missed_slots != "latest":
            return
        overtaken = [
            other
            for other in one.works
            if other is not work
            and other.outcome is None
            and other.claim.receives == 0
            and one.must_wait(other)
        ]
        for other in overtaken:
            other.settle("missed")
            one.tell(at, f"{other.label} is overtaken by {work.label}")

    def click(self, one: Modelled, person: str, label: str, at: datetime) -> Work | str:
        """Return the work that a click makes, or the code with which it is refused."""
        clicker = self.person(one, person)
        if not clicker.active or person not in (one.spec.owner, "boss"):
            return "not_found"
        if one.state == "ended":
            return "schedule_ended"
        if refusal := self.refusal(one, person):
            return refusal
        return Work(
            label=label,
            slot=None,
            clicked_by=person,
            is_resolved=True,
            claim=Claim(not_before=at),
        )

    def recover(self, at: datetime) -> None:
        """Tell that recovery looked for silent receives."""
        for one, work in list(self.unsettled()):
            if work.claim.is_silent(at):
                one.tell(at, f"{work.label} has lost its worker")
                if not work.claim.try_again(at):
                    self.fail(one, work, "worker_lost", at)
            render = work.render
            if render is not None and render.claim.is_silent(at):
                one.tell(at, f"{work.label} has lost the worker of its render")
                if not render.claim.try_again(at):
                    render.failed_with, render.claim.is_done = "worker_lost", True

    def settle(self, one: Modelled, work: Work, outcome: str, at: datetime) -> None:
        """Settle what is no failure: a streak ends with what was delivered, or was empty."""
        work.settle(outcome, "too_late" if outcome == "missed" else None)
        one.tell(at, f"{work.label} is {outcome}")
        if outcome in ("delivered", "delivered_partly", "skipped_empty"):
            one.streak = 0

    def fail(self, one: Modelled, work: Work, code: str, at: datetime) -> None:
        """Settle a failure; an automatic one counts, and may pause."""
        work.settle("failed", code)
        one.tell(at, f"{work.label} has failed: {code}")
        for person, state in work.rows.items():
            if state == "sending":
                work.rows[person] = "uncertain" if work.unanswered[person] else "unsent"
        if work.slot is None:
            return
        one.streak += 1
        reason = None
        if code in ("access_lost", "actor_inactive"):
            reason = code
        elif one.streak >= FAILURES_THAT_PAUSE:
            reason = "five_failures"
        if reason is not None and one.pause(at, reason):
            self._miss_waiting(one, at)
            told = {"boss"} if self.person(one, "boss").active else set()
            self._write_notices(one, work, "paused", {one.spec.owner, *told}, reason)
        elif one.streak == 1:
            told = {one.spec.owner}
            if not self.person(one, one.spec.owner).active and self.person(one, "boss").active:
                told.add("boss")
            self._write_notices(one, work, "first_failure", told, code)

    def _miss_waiting(self, one: Modelled, at: datetime) -> None:
        """Miss what waited behind the failure that paused the schedule."""
        for work in one.works:
            if work.slot is not None and work.outcome is None and work.claim.receives == 0:
                work.settle("missed")
                one.tell(at, f"{work.label} is missed by the pause")

    def is_too_late(self, one: Modelled, work: Work, at: datetime) -> bool:
        """Whether a receive that begins now comes too late, and nothing was sent before."""
        limit = one.spec.lateness_limit
        if limit is None or work.slot is None or at - work.slot <= timedelta(seconds=limit):
            return False
        return all(state == "skipped" for state in work.rows.values())

    def _write_notices(
        self, one: Modelled, work: Work, kind: str, people: set[str], code: str
    ) -> None:
        one.notices += [
            Notice(work=work, kind=kind, person=person, code=code) for person in sorted(people)
        ]

    def unsent_notices(self) -> Iterator[tuple[Modelled, Notice]]:
        for one in self.schedules.values():
            for notice in one.notices:
                if not notice.is_done:
                    yield one, notice

    def send_notices(self, at: datetime, *, is_killed: bool) -> None:
        """Tell that a pass sent notices, all of them unless it was killed at one."""
        for one, notice in self.unsent_notices():
            is_there = self.person(one, notice.person).active
            notice.send(at, "sent" if is_there else "skipped", is_killed=is_killed)
            if notice.is_done:
                one.tell(at, f"{notice.person} is told: {notice.kind} {notice.ends}")

    def resume(self, one: Modelled, at: datetime) -> str | None:
        """Resume a paused schedule; returns why not."""
        following = one.rule.next_after(at)
        if following is None:
            return "schedule_ended"
        if refusal := self.refusal(one, one.spec.owner):
            return refusal
        one.state, one.pause_code, one.streak, one.next_slot = "active", None, 0, following
        one.tell(at, "is resumed")
        return None

    def edit(
        self,
        one: Modelled,
        rule: Rule | None,
        recipients: tuple[str, ...] | None,
        at: datetime,
    ) -> bool:
        """Change a schedule as a catalog file says; False if the file is refused."""
        new_rule = rule or one.rule
        following = new_rule.next_after(at)
        is_other = new_rule != one.rule and one.state != "paused"
        if self.refusal(one, one.spec.owner) is not None or (is_other and following is None):
            return False
        begins_anew = one.state == "ended" and following is not None
        one.rule, one.recipients = new_rule, recipients or one.recipients
        one.tell(at, f"is edited: {new_rule.cron} in {new_rule.zone}, for {one.recipients}")
        if begins_anew:
            one.state, one.streak = "active", 0
        if begins_anew or is_other:
            one.next_slot = following
        return True


def _is_missed(spec: Spec, late: timedelta, *, is_newest: bool) -> bool:
    limit = spec.lateness_limit
    if limit is not None and late > timedelta(seconds=limit):
        return True
    if spec.missed_slots == "latest":
        return not is_newest
    if spec.missed_slots == "all":
        return late > _A_WEEK
    return not is_newest or late > _PUNCTUAL
