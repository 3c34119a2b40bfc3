"""The month: what is due, what happens and who works, told to the product and to the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.audit import OPERATOR, By
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.publish import Answer, publish
from queries_orchestration.settings import DELIVERY_LANE, REPORT_LANE
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.simulation.fates import NOTICE_STEPS, Fates
from queries_orchestration_tests.simulation.happenings import (
    Click,
    Edit,
    Happening,
    Mend,
    Outage,
    Pause,
    PersonChanges,
)
from queries_orchestration_tests.simulation.model import Model, Modelled, hold
from queries_orchestration_tests.simulation.mortal import Killed
from queries_orchestration_tests.simulation.organisation import END, START, definition
from queries_orchestration_tests.simulation.receives import Receives
from queries_orchestration_tests.simulation.work import Claim, Render, Work
from queries_orchestration_tests.simulation.world import World

GRAIN: Final = timedelta(minutes=5)
HALF_AN_HOUR: Final = timedelta(minutes=30)
DRAINED: Final = END + timedelta(days=1)
"""By then everything must be settled."""


@dataclass(kw_only=True)
class Month:
    """Drives product and model through the same weeks."""

    world: World
    model: Model
    fates: Fates
    happenings: list[Happening]
    outages: tuple[Outage, ...]
    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._receives = Receives(self.model, self.fates)
        self._of_id: dict[str, Modelled] = {}
        self._work_of: dict[str, tuple[Modelled, Work]] = {}
        for name, one in self.model.schedules.items():
            self._of_id[self.world.schedule(one.spec.workspace, name).id] = one

    def run(self) -> None:
        """Go from moment to moment until the weeks are over and everything is settled."""
        at: datetime | None = START
        while at is not None:
            left = [one.told() for one, _ in self.model.unsettled()]
            left += [one.told() for one, _ in self.model.unsent_notices()]
            assert at < DRAINED, "\n".join(left)
            self._tick(at)
            at = self._next_moment(at)

    def _next_moment(self, at: datetime) -> datetime | None:
        """Return when something may happen again, on a grid of five minutes."""
        moments = [one.at for one in self.happenings[:1]]
        moments += [outage.ends for outage in self.outages if outage.ends > at]
        if by_itself := self.model.next_moment():
            moments.append(by_itself)
        first = min(moments, default=END)
        if first >= END and not any(self.model.unsettled()):
            if not any(self.model.unsent_notices()):
                return None
            first = max(at, END) + HALF_AN_HOUR
        if first <= at:
            # Its offer was lost, and the lease must end; or an outage goes on.
            first = at + (HALF_AN_HOUR if self._is_out("workers", at) else GRAIN)
        return first + (START - first) % GRAIN

    def _tick(self, at: datetime) -> None:
        self.world.clock.at = at
        offers: list[Offer] = []
        is_up_to_date = False
        if not self._is_out("dispatcher", at):
            offers, is_up_to_date = self._pass(at)
        waiting: list[Happening] = []
        while self.happenings and self.happenings[0].at <= at:
            happening = self.happenings.pop(0)
            # An edit in the minute of a slot that no pass has seen is another story.
            if is_up_to_date or isinstance(happening, PersonChanges):
                offers += self._happen(happening, at)
            else:
                waiting.append(happening)
        self.happenings[:0] = waiting
        if self._is_out("workers", at):
            return
        while True:
            for offer in offers:
                self._take(offer, at)
            unsettled = [work for _, work in self.model.unsettled()]
            offers = self._look(DELIVERY_LANE, at) if unsettled else []
            if any(work.render is not None for work in unsettled):
                offers += self._look(REPORT_LANE, at)
            if not offers:
                return

    def _is_out(self, what: str, at: datetime) -> bool:
        return any(outage.what == what and outage.covers(at) for outage in self.outages)

    def _pass(self, at: datetime) -> tuple[list[Offer], bool]:
        done = self.world.dispatch(self.fates.of_pass(at))
        if done.killed_at:
            self.kills[done.killed_at] += 1
        if done.killed_at == "admitted, not committed":
            return [], False
        self.model.admit(at)
        self.model.recover(at)
        self.model.send_notices(at, is_killed=done.killed_at in NOTICE_STEPS)
        return list(done.offers), True

    def _look(self, lane: str, at: datetime) -> list[Offer]:
        offers = self.world.look(lane)
        self.model.recover(at)
        return offers

    def _take(self, offer: Offer, at: datetime) -> None:
        if offer.lane == REPORT_LANE:
            self._take_render(offer, at)
            return
        one, work = self._find(offer.key)
        hold(one.must_wait(work), False, one)
        _begin(one, work.claim, at)
        fate = self.fates.of_receive(one.spec, work.label, work.claim.receives, work.slot)
        was_rendered = work.render is not None and work.render.claim.is_done
        got = self.world.take(
            offer,
            fate,
            refuses=lambda address: self.fates.refuses(
                one.spec, work.label, address.partition("@")[0]
            ),
            meanwhile=lambda: self._render(at),
        )
        expected = self._receives.deliver(one, work, fate, at, was_rendered=was_rendered)
        if got == "killed":
            self.kills[str(fate.dies_at)] += 1
        self.ends[got] += 1
        hold(got, expected, one)
        self._compare(one)

    def _render(self, at: datetime) -> None:
        for offer in self._look(REPORT_LANE, at):
            self._take_render(offer, at)

    def _take_render(self, offer: Offer, at: datetime) -> None:
        one, work = self._find(self.world.occurrence_of_render(offer.key))
        if work.render is None:
            work.render = Render(claim=Claim(not_before=at), actor=one.spec.owner)
        render = work.render
        _begin(one, render.claim, at)
        fate = self.fates.of_render(one.spec, work.label, render.claim.receives)
        got = self.world.take(offer, fate)
        expected = self._receives.render(one, work, render, fate, at)
        self.ends[f"render {got}"] += 1
        hold(got, expected, one)

    def _find(self, key: str) -> tuple[Modelled, Work]:
        """Return the modelled work of an occurrence; a click's key is learned when it is met."""
        if key in self._work_of:
            return self._work_of[key]
        schedule_id, is_slot, slot = key.partition("@")
        one = self._of_id[schedule_id.partition("!")[0]]
        label = f"{slot[:13]}" if is_slot else None
        (work,) = (
            work
            for work in one.works
            if work.key is None and (work.label == label or (not is_slot and work.slot is None))
        )
        work.key = key
        self._work_of[key] = one, work
        return one, work

    def _compare(self, one: Modelled) -> None:
        """Hold the schedule's row against the model."""
        row = self.world.schedule(one.spec.workspace, one.spec.name)
        got = (row.state, row.pause_code, row.failure_streak, row.next_slot)
        expected = (one.state, one.pause_code, one.streak, one.next_slot)
        hold(got, expected, one)

    def _happen(self, happening: Happening, at: datetime) -> list[Offer]:
        if isinstance(happening, PersonChanges):
            self._change_person(happening)
        elif isinstance(happening, Mend):
            for one in self.model.schedules.values():
                if one.state == "paused":
                    chance = self.fates.random("mend", one.spec.name, at)
                    if chance.random() < happening.share:
                        self._resume(one, at)
        elif isinstance(happening, Pause):
            self._pause(self.model.schedules[happening.schedule], at)
        elif isinstance(happening, Edit):
            self._edit(happening, at)
        else:
            return self._click(happening, at)
        return []

    def _change_person(self, change: PersonChanges) -> None:
        person = self.model.people[change.workspace][change.person]
        setattr(person, change.what, change.to)
        people = {person.name: person.definition(change.workspace)}
        assert self.world.apply(change.workspace, people=people)

    def _pause(self, one: Modelled, at: datetime) -> None:
        workspace_id = self.world.workspace_ids[one.spec.workspace]
        schedule_id = self.world.schedule(one.spec.workspace, one.spec.name).id
        refusals = {"paused": "already_paused", "ended": "schedule_ended"}
        refused = None
        try:
            schedule_changes.pause(
                self.world.backends,
                workspace_id,
                schedule_id=schedule_id,
                reason="a while",
                by=OPERATOR,
            )
        except QueriesError as error:
            refused = error.code
        hold(refused, refusals.get(one.state), one)
        one.pause(at, "paused")
        self._compare(one)

    def _resume(self, one: Modelled, at: datetime) -> None:
        workspace_id = self.world.workspace_ids[one.spec.workspace]
        schedule_id = self.world.schedule(one.spec.workspace, one.spec.name).id
        refused = None
        try:
            schedule_changes.resume(
                self.world.backends, workspace_id, schedule_id=schedule_id, by=OPERATOR
            )
        except QueriesError as error:
            refused = error.code
        hold(refused, self.model.resume(one, at), one)
        self._compare(one)

    def _edit(self, edit: Edit, at: datetime) -> None:
        one = self.model.schedules[edit.schedule]
        rule = edit.rule or one.rule
        recipients = edit.recipients or one.recipients
        schedule = {edit.schedule: definition(one.spec, rule, recipients)}
        is_applied = self.world.apply(one.spec.workspace, schedules=schedule)
        hold(is_applied, self.model.edit(one, edit.rule, edit.recipients, at), one)
        self._compare(one)

    def _click(self, click: Click, at: datetime) -> list[Offer]:
        one = self.model.schedules[click.schedule]
        workspace_id = self.world.workspace_ids[one.spec.workspace]
        expected = self.model.click(one, click.person, click.label, at)
        process = self.world.process(self.fates.of_click(click.label))
        launched: list[Offer] = []
        refused = None

        def launch(offer: Offer) -> Answer:
            answer: Answer = self.fates.random("launch", click.label).choice(
                ("accepted", "refused", "unknown")
            )
            if answer == "accepted":
                launched.append(offer)
            return answer

        try:
            key = run_now(
                process,
                workspace_id,
                schedule_id=self.world.schedule(one.spec.workspace, one.spec.name).id,
                by=By(via="command", person_id=self.world.person(one.spec.workspace, click.person)),
                client_key=click.label,
            )
            publish(process, workspace_id, key, launch)
        except Killed as killed:
            self.kills[str(killed)] += 1
            if str(killed) == "run now, not committed":
                return []
        except QueriesError as error:
            refused = error.code
        if not isinstance(expected, Work):
            hold(refused, expected, one)
            return []
        hold(refused, None, one)
        one.works.append(expected)
        if one.spec.is_report:
            expected.render = Render(claim=Claim(not_before=at), actor=click.person)
        one.tell(at, f"{click.label} by {click.person}")
        return launched


def _begin(one: Modelled, claim: Claim, at: datetime) -> None:
    """Count one more receive, which must be allowed to begin."""
    hold(claim.why_not(at), None, one)
    claim.receives += 1
