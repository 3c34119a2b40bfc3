"""When somebody is to be told, and how long an unsent notice waits."""

from __future__ import annotations

from queries_orchestration.model.notices import LONGEST_DELAY, delay_after, notice_due


def test_rules_of_what_is_due_and_of_the_delay() -> None:
    assert notice_due(streak=1, paused=False) == "first_failure"
    assert notice_due(streak=2, paused=False) is None
    assert notice_due(streak=1, paused=True) == notice_due(streak=5, paused=True) == "paused"
    assert [delay_after(60, attempts) for attempts in (1, 2, 3)] == [60, 240, 960]
    assert delay_after(60, 10_000) == LONGEST_DELAY
