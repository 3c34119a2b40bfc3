"""The notes of a message: late, old, cut; each said in text and HTML, and only when it is so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queries_orchestration.communications.compose import compose
from queries_orchestration.communications.notes import LATE, notes_of
from queries_orchestration_tests.communications.test_compose import FACTS, Page

CHANGED = (
    "The query has changed since this schedule was set up; this file is by its version of then."
)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"source_changed": True}, CHANGED),
        (
            {"source_changed": True, "source_kind": "report"},
            "The report has changed since this schedule was set up; this is its present version.",
        ),
        ({"missed_slots": 1}, "The delivery before this one was missed."),
        ({"missed_slots": 1_200}, "The 1,200 deliveries before this one were missed."),
        (
            {"replaced_characters": 1},
            "1 character that the file's format cannot hold became \ufffd.",
        ),
        (
            {"replaced_characters": 2_000},
            "2,000 characters that the file's format cannot hold became \ufffd.",
        ),
        (
            {"cut_cells": 1},
            "1 text was too long for a cell and cut; the file says where.",
        ),
        (
            {"cut_sections": 2},
            "2 sections show less than there is; the file says where.",
        ),
    ],
)
def test_what_is_left_out_or_other_than_expected_is_told(
    changes: dict[str, Any], note: str
) -> None:
    noted = replace(FACTS, **changes)

    assert notes_of(noted) == [note]
    told, plain = compose(noted), compose(FACTS)
    assert f"\n\n{note}\n" in told.text
    assert note in Page(told.html).text
    assert note not in plain.text
    assert note not in Page(plain.html).text


def test_nothing_is_told_of_a_delivery_as_it_should_be() -> None:
    assert notes_of(FACTS) == []
    assert notes_of(replace(FACTS, slot=None)) == []


@pytest.mark.parametrize(
    ("late", "words"),
    [
        (timedelta(minutes=31), "31 minutes"),
        (timedelta(hours=1, minutes=59), "119 minutes"),
        (timedelta(hours=2, minutes=59), "2 hours"),
        (timedelta(hours=47, minutes=59), "47 hours"),
        (timedelta(days=6, hours=23), "6 days"),
    ],
)
def test_a_delivery_long_after_its_slot_says_how_long(late: timedelta, words: str) -> None:
    assert FACTS.slot is not None
    noted = replace(FACTS, sent_at=FACTS.slot + late)

    assert notes_of(noted) == [f"This comes {words} after its time."]


def test_half_an_hour_is_not_late() -> None:
    assert FACTS.slot is not None
    assert notes_of(replace(FACTS, sent_at=FACTS.slot + LATE)) == []


def test_all_that_is_so_is_told() -> None:
    told = notes_of(
        replace(
            FACTS,
            source_changed=True,
            missed_slots=1,
            replaced_characters=1,
            cut_cells=1,
            cut_sections=1,
        )
    )
    assert len(told) == 5
