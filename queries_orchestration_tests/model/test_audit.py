"""Who asks by what way, and what an event may hold."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from queries_orchestration.model.audit import OPERATOR, SYSTEM, WAYS, By, Subject, SubjectKind, Via
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.ids import request_key, slot_key

PERSON, OUTSIDE = "u33uos4ymzdopiz2wfgup72prm", "lwbpjcxp5bat3lft7upbjoz4iu"
POSSIBLE = {
    (via, person, outside)
    for via, person, outside in (
        ("command", True, False),
        ("command", False, False),
        ("api", True, False),
        ("page", True, False),
        ("dagster-ui", True, False),
        ("link", True, False),
        ("link", False, True),
        ("system", False, False),
    )
}


@pytest.mark.parametrize("via", WAYS)
@pytest.mark.parametrize("person", [True, False])
@pytest.mark.parametrize("outside", [True, False])
def test_each_way_is_open_to_those_who_can_ask_by_it(via: Via, person: bool, outside: bool) -> None:
    def by() -> By:
        return By(
            via=via,
            person_id=PERSON if person else None,
            outside_id=OUTSIDE if outside else None,
        )

    if (via, person, outside) in POSSIBLE:
        assert by().governs_all == (not person and not outside)
    else:
        with pytest.raises(ValueError, match=via):
            by()


def test_what_is_done_with_a_persons_access_needs_a_person() -> None:
    assert By(via="api", person_id=PERSON).as_person() == PERSON
    for by in (OPERATOR, SYSTEM, By(via="link", outside_id=OUTSIDE)):
        with pytest.raises(Refused) as refused:
            by.as_person()
        assert refused.value.code == "person_required"


@pytest.mark.parametrize(
    ("kind", "text", "kept"),
    [
        ("schedule", PERSON, True),
        ("export", PERSON.upper(), False),
        ("export", f"{PERSON} ", False),
        ("source", "weekly-orders", False),
        ("export", "ann@example.org", False),
        ("occurrence", request_key(PERSON, OUTSIDE), True),
        ("occurrence", slot_key(PERSON, datetime(2027, 1, 4, tzinfo=UTC)), True),
        ("occurrence", PERSON, False),
        ("occurrence", f"{PERSON}@tomorrow", False),
        ("schedule", request_key(PERSON, OUTSIDE), False),
    ],
)
def test_of_what_somebody_asks_for_only_our_ids_are_kept(
    kind: SubjectKind, text: str, kept: bool
) -> None:
    assert Subject.asked(kind, text) == Subject(kind, text if kept else None)
