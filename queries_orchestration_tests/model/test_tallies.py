"""Recipients as counts."""

from __future__ import annotations

from queries_orchestration.model.tallies import Tally, tally


def test_recipients_are_counted_by_state_and_by_code() -> None:
    deliveries = [("sent", None), ("skipped", "inactive"), ("sent", None), ("skipped", "inactive")]
    assert tally(deliveries) == Tally({"sent": 2, "skipped": 2}, {"inactive": 2})
    assert tally([]) == Tally({}, {})
