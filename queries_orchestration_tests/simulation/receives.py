"""The model's receive: step by step what one worker does with an occurrence, or a render."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final

from queries_orchestration_tests.simulation.fates import FILE_STEPS, SETTLED, Fate, Fates
from queries_orchestration_tests.simulation.model import Model, Modelled
from queries_orchestration_tests.simulation.work import RECEIVES, Claim, Render, Work

KILLED: Final = "killed"
ACCESS: Final = ("access_lost", "actor_inactive")


class _Death(Exception):
    """The modelled worker is killed here."""


class _Ends(Exception):
    """The modelled receive ends with this code; ``for_good`` without another one."""

    def __init__(self, code: str, *, for_good: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.for_good = for_good


class Receives:
    """Says how each receive must end."""

    def __init__(self, model: Model, fates: Fates) -> None:
        self._model = model
        self._fates = fates

    def deliver(
        self, one: Modelled, work: Work, fate: Fate, at: datetime, *, was_rendered: bool
    ) -> str:
        """Return how a receive of an occurrence ends: its outcome, a code, or ``killed``.

        Args:
            was_rendered: whether the report was rendered when the receive began.
        """
        one.tell(at, f"{work.label}, receive {work.claim.receives}: {_told(fate)}")
        steps = _Steps(fate)
        try:
            outcome = self._deliver(one, work, fate, steps, at, was_rendered=was_rendered)
        except _Death:
            work.claim.silent_since = at
            return KILLED
        except _Ends as ends:
            if ends.for_good or not work.claim.try_again(at):
                self._model.fail(one, work, ends.code, at)
                # Whoever is killed there leaves nothing undone.
                return KILLED if fate.dies_at == SETTLED else ends.code
            return ends.code
        if outcome == "failed":
            self._model.fail(one, work, "all_refused", at)
        else:
            self._model.settle(one, work, outcome, at)
        return outcome

    def render(self, one: Modelled, work: Work, render: Render, fate: Fate, at: datetime) -> str:
        """Return how a receive of a report's render ends."""
        one.tell(at, f"{work.label}, render {render.claim.receives}: {_told(fate)}")
        steps = _Steps(fate)
        try:
            steps.reach("started")
            self._open(one, render.actor)
            self._make_file(one, render, fate, steps)
        except _Death:
            if render.is_ready:
                return KILLED
            render.claim.silent_since = at
            return KILLED
        except _Ends as ends:
            if ends.for_good or not render.claim.try_again(at):
                render.failed_with, render.claim.is_done = ends.code, True
            return ends.code
        return "ready"

    def _deliver(
        self,
        one: Modelled,
        work: Work,
        fate: Fate,
        steps: _Steps,
        at: datetime,
        *,
        was_rendered: bool,
    ) -> str:
        actor = work.clicked_by or one.spec.owner
        steps.reach("started")
        if self._model.is_too_late(one, work, at):
            return "missed"
        self._open(one, actor)
        if not work.is_resolved:
            work.is_resolved = True
            if one.spec.is_report:
                work.render = work.render or Render(claim=Claim(not_before=at), actor=actor)
            steps.reach("resolved")
        if work.render is None:
            self._make_file(one, work, fate, steps)
        else:
            self._await(work.render, steps, was_rendered=was_rendered)
        if one.spec.skip_empty:
            return "skipped_empty"
        self._send(one, work, fate, steps)
        return _outcome(list(work.rows.values()))

    def _open(self, one: Modelled, actor: str) -> None:
        if refusal := self._model.refusal(one, actor):
            raise _Ends(refusal, for_good=True)

    def _make_file(self, one: Modelled, made: Work | Render, fate: Fate, steps: _Steps) -> None:
        """Make the file, unless an earlier receive recorded it."""
        if made.has_file:
            return
        if fate.storage == "begin":
            raise _Ends("storage_unavailable")
        steps.reach(FILE_STEPS[0])
        steps.reach(FILE_STEPS[1])
        if fate.source == "down":
            raise _Ends("source_unavailable")
        if fate.source == "broken":
            raise _Ends("source_broken", for_good=True)
        if one.spec.source != "no-orders":
            steps.reach(FILE_STEPS[2])
        steps.reach(FILE_STEPS[3])
        if fate.storage != "up":
            raise _Ends("storage_unavailable" if fate.storage == "end" else "unexpected_error")
        steps.reach(FILE_STEPS[4])
        made.has_file = True
        if isinstance(made, Render):
            made.is_ready = made.claim.is_done = True
        steps.reach(FILE_STEPS[5])

    def _await(self, render: Render, steps: _Steps, *, was_rendered: bool) -> None:
        """Wait for the render, which somebody works on meanwhile if it may start."""
        if was_rendered:
            return self._rendered(render)
        steps.reach("render awaited")
        if render.is_ready or render.failed_with:
            return self._rendered(render)
        steps.reach("render awaited")
        raise _Ends("render_unfinished")

    def _rendered(self, render: Render) -> None:
        if render.failed_with in ACCESS:
            raise _Ends(str(render.failed_with), for_good=True)
        if render.failed_with:
            raise _Ends("render_failed", for_good=True)

    def _send(self, one: Modelled, work: Work, fate: Fate, steps: _Steps) -> None:
        """Submit to everybody without a final state.

        The mailbox tells a copy by its key: a message without an answer is submitted again, and
        counted once, until the last receive.
        """
        unreached, turn = False, 0
        is_last = work.claim.receives == RECEIVES
        for name in one.recipients:
            may_be_sent = self._may_be_sent(one, name)
            before = work.unanswered.get(name, 0)
            if name not in work.rows:
                work.rows[name] = "sending" if may_be_sent else "skipped"
                work.unanswered[name] = 1 if may_be_sent else 0
                steps.reach("sending recorded")
                if not may_be_sent:
                    continue
            elif work.rows[name] != "sending":
                continue
            elif not may_be_sent:
                _give_up(work, name)
                continue
            else:
                work.unanswered[name] = 1
                steps.reach("further submission noted")
            turn += 1
            mail = fate.mail if fate.mail_turn in (0, turn) else "up"
            if self._fates.refuses(one.spec, work.label, name):
                state = "refused"
            elif mail == "down":
                unreached = True
                steps.reach("not taken, not recorded")
                work.unanswered[name] = before
                continue
            else:
                work.messages.add(name)
                state = "sent"
                if mail == "lost":
                    if not is_last:
                        unreached = True
                        continue
                    state = "uncertain"
            steps.reach("submitted, not recorded")
            work.rows[name] = state
            if state != "uncertain":
                work.unanswered[name] = before
            steps.reach("recipient concluded")
        for name, state in work.rows.items():
            if state == "sending" and name not in one.recipients:
                _give_up(work, name)
        if unreached:
            lost = fate.mail == "lost"
            raise _Ends("submission_uncertain" if lost else "communications_unavailable")

    def _may_be_sent(self, one: Modelled, name: str) -> bool:
        person = self._model.person(one, name)
        return person.active and person.address


def _give_up(work: Work, name: str) -> None:
    """Conclude what an earlier receive began to send to who may no longer get it."""
    work.rows[name] = "uncertain" if work.unanswered[name] else "skipped"


class _Steps:
    """The named steps of one worker, at one of which it may die."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self._counted: Counter[str] = Counter()

    def reach(self, step: str) -> None:
        self._counted[step] += 1
        if step == self._fate.dies_at and self._counted[step] == self._fate.time:
            raise _Death(step)


def _outcome(states: list[str]) -> str:
    tried = [state for state in states if state != "skipped"]
    if not tried:
        return "no_recipients"
    refused = tried.count("refused")
    if refused == len(tried):
        return "failed"
    return "delivered_partly" if refused else "delivered"


def _told(fate: Fate) -> str:
    trouble = f"source {fate.source}, storage {fate.storage}, mail {fate.mail} {fate.mail_turn}"
    if fate.dies_at:
        return f"to be killed at {fate.dies_at!r}, time {fate.time}, {trouble}"
    return trouble
