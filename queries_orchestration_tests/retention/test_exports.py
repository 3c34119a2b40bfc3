"""Old exports that people asked for go, once their file is gone, and a count stays."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.store.tables import exports, monthly_exports, occurrences
from queries_orchestration_tests.downloads import request_file
from queries_orchestration_tests.exports.admitted import admit
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.retention.retained import PAST, retained, rows


@pytest.fixture
def house(house: House) -> House:
    house.clock.at = MONDAY
    return house


def change(house: House, **values: object) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(exports).values(**values))


def counted(house: House) -> list[tuple[date, str, str, int, int, int]]:
    kept = monthly_exports.c
    with house.backends.database.across.read() as connection:
        found = connection.execute(
            sa.select(kept.month, kept.state, kept.code, kept.exports, kept.rows, kept.bytes)
        )
        return [tuple(row) for row in found]


def test_an_expired_export_goes_and_is_counted(house: House) -> None:
    for _ in range(2):
        request_file(house, "ada")
    assert retained(house, at=MONDAY + timedelta(days=30)) == {"expired_files": 2}

    assert retained(house, do=False, at=PAST) == {"exports": 2}
    assert counted(house) == []
    assert retained(house) == {"exports": 2}
    assert counted(house) == [(date(2027, 1, 1), "expired", "", 2, 2, 36)]
    assert {"exports", "requests", "claims", "downloads"}.isdisjoint(rows(house))
    assert retained(house) == {}


def test_what_is_unfinished_or_kept_stays(house: House) -> None:
    request_file(house, "ada")
    admit(house)
    change(house, expires_at=PAST + timedelta(days=1))
    assert retained(house, at=PAST) == {}
    assert rows(house)["exports"] == 2


def test_what_failed_goes_once_nothing_of_it_is_left(house: House) -> None:
    request_file(house, "ada")
    change(
        house,
        state="failed",
        code="size_limit",
        upload_id="f" * 32,
        upload_receive=1,
        expires_at=None,
    )
    assert retained(house, do=False, at=PAST) == {"expired_files": 1}
    assert retained(house) == {"expired_files": 1, "exports": 1}
    assert counted(house) == [(date(2027, 1, 1), "failed", "size_limit", 1, 1, 18)]


def test_a_file_of_an_occurrence_stays_as_long_as_it(house: House) -> None:
    house.deliver(MONDAY)
    retained(house, at=PAST - timedelta(days=2))
    change(house, created_at=MONDAY - timedelta(days=30))
    assert retained(house) == {}
    assert rows(house)["exports"] == 1


def test_a_file_that_a_backfill_made_anew_goes_by_itself_and_is_no_export(house: House) -> None:
    """Nothing refers to the row of before any more, and nobody asked for it."""
    house.deliver(MONDAY)
    retained(house, at=MONDAY + timedelta(days=30))
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(occurrences).values(export_id=None, settled_at=PAST))
    assert retained(house, at=PAST) == {"exports": 1}
    assert counted(house) == []
