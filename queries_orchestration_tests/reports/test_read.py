"""Sections are read one by one, each bounded, all of one database as of one moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal

import pytest
import sqlalchemy as sa

from queries_orchestration.model.errors import (
    QueriesError,
    ReceiveTimeout,
    SourceBroken,
    SourceUnavailable,
)
from queries_orchestration.reports.content import Chart, Comparison, Content, Number, Table, Text
from queries_orchestration_tests.house import make_orders
from queries_orchestration_tests.model.definitions import SQLITE
from queries_orchestration_tests.reports.opened import (
    Impatient,
    Patient,
    open_sections,
    read,
    reader_of,
    shown,
    table,
)

NUMBER = shown("number", "count", "Number", value="orders")


@SQLITE
def test_every_kind_of_section_says_what_its_query_found(orders: str) -> None:
    opened = open_sections(
        orders,
        {"text": "Hello **you**."},
        {"text": "More.", "title": "More"},
        table(title="Two", since=2_499, totals=["amount"], columns=["amount", "id"], decimals=3),
        shown("bar", "orders", "Bars", x="id", y="amount", until=2),
        shown("line", "orders", "Lines", x="id", y="amount", by="region", until=2),
        NUMBER,
        shown("comparison", "count", "Change", value="orders", until=30, previous={"until": 20}),
    )

    contents = read(opened)

    assert [one.number for one in contents] == [1, 2, 3, 4, 5, 6, 7]
    assert [one.title for one in contents[:4]] == [None, "More", "Two", "Bars"]
    assert [one.decimals for one in contents] == [None, None, 3, None, None, None, None]
    assert {one.notices for one in contents} == {()}
    text, more, two, bars, lines, number, change = (one.shown for one in contents)
    assert text == Text(markdown="Hello **you**.")
    assert more == Text(markdown="More.")
    assert isinstance(two, Table)
    assert [column.label for column in two.columns] == ["amount", "id"]
    assert two.rows == [[Decimal("2499.25"), 2_499], [Decimal("2500.25"), 2_500]]
    assert two.totals == (Decimal("4999.50"), None)
    assert isinstance(bars, Chart)
    assert (bars.kind, bars.x_values) == ("bar", (1, 2))
    assert [one.values for one in bars.series] == [(Decimal("1.25"), Decimal("2.25"))]
    assert isinstance(lines, Chart)
    assert [(one.label, one.values) for one in lines.series] == [
        ("r1", (Decimal("1.25"), None)),
        ("r2", (None, Decimal("2.25"))),
    ]
    assert isinstance(number, Number)
    assert (number.column.label, number.value, number.is_empty) == ("orders", 2_500, False)
    assert isinstance(change, Comparison)
    assert (change.value, change.previous, change.change, change.percent) == (30, 20, 10, 50.0)


@SQLITE
def test_progress_is_told_after_each_section_with_all_rows_so_far(orders: str) -> None:
    opened = open_sections(
        orders,
        table(until=1_500),
        {"text": "Nothing to read."},
        NUMBER,
        shown("comparison", "count", "Change", value="orders", previous={"until": 1}),
    )
    told: list[int] = []

    reader = reader_of(opened, progress=told.append)
    with reader.reading():
        for _ in reader.sections():
            pass

    assert told == [1_500, 1_500, 1_501, 1_503]
    assert reader.rows == 1_503


@SQLITE
def test_a_number_is_of_the_first_row_and_says_if_there_are_more(orders: str) -> None:
    opened = open_sections(
        orders,
        shown("number", "latest", "Latest", value="amount"),
        shown("number", "latest", "Of two", value="amount", until=2),
        shown("number", "latest", "Only", value="amount", until=1),
        shown("number", "latest", "None", value="amount", until=0),
    )

    latest, of_two, only, none = read(opened)

    more = ("The query has more than one row; this is of the first.",)
    assert (_number(latest), latest.notices) == ((Decimal("2500.25"), False), more)
    assert (_number(of_two), of_two.notices) == ((Decimal("2.25"), False), more)
    assert (_number(only), only.notices) == ((Decimal("1.25"), False), ())
    assert (_number(none), none.notices) == ((None, True), ())


@SQLITE
def test_a_number_that_is_null_is_not_empty(orders: str) -> None:
    _change(orders, "UPDATE orders SET amount = NULL WHERE id = 2500")

    (content,) = read(open_sections(orders, shown("number", "latest", "Latest", value="amount")))

    assert _number(content) == (None, False)


@SQLITE
@pytest.mark.parametrize(
    ("until", "previous", "expected", "notices"),
    [
        (1, {"until": 0}, (Decimal("1.25"), None, None, None), ()),
        (0, {"until": 1}, (None, Decimal("1.25"), None, None), ()),
        (0, {"until": -1}, (None, None, None, None), ()),
        (1, {"until": 1}, (Decimal("1.25"), Decimal("1.25"), Decimal(0), 0.0), ()),
        (
            1,
            {"until": 4},
            (Decimal("1.25"), Decimal("4.25"), Decimal(-3), -70.588235),
            ("The query has more than one row; this is of the first.",),
        ),
    ],
)
def test_a_comparison_with_a_period_without_rows_has_no_change(
    orders: str,
    until: int,
    previous: dict[str, int],
    expected: tuple[object, ...],
    notices: tuple[str, ...],
) -> None:
    opened = open_sections(
        orders,
        shown("comparison", "latest", "Change", value="amount", until=until, previous=previous),
    )

    (content,) = read(opened)

    change = content.shown
    assert isinstance(change, Comparison)
    assert (change.value, change.previous, change.change, change.percent) == expected
    assert content.notices == notices


def test_all_sections_over_one_database_see_one_moment(source_url: str) -> None:
    _make(source_url)
    opened = open_sections(
        source_url,
        table(since=9),
        NUMBER,
        shown("comparison", "count", "Change", value="orders", previous={"until": 9}),
        table(title="Again", since=9),
    )
    reader = reader_of(opened)

    with reader.reading():
        sections = reader.sections()
        first = next(sections)
        _change(source_url, "INSERT INTO orders VALUES (11, 'new', 11.25)")
        _change(source_url, "UPDATE orders SET region = 'changed' WHERE id = 9")
        _change(source_url, "DELETE FROM orders WHERE id = 10")
        number, change, again = sections

    assert isinstance(first.shown, Table)
    assert isinstance(again.shown, Table)
    assert _rows(again) == _rows(first) == [(9, "r2"), (10, "r3")]
    assert _number(number) == (10, False)
    assert isinstance(change.shown, Comparison)
    assert (change.shown.value, change.shown.previous) == (10, 9)
    anew = read(open_sections(source_url, table(since=9)))
    assert _rows(anew[0]) == [(9, "changed"), (11, "new")]


def test_two_databases_are_read_as_of_one_moment_each(
    source_url: str, new_database: Callable[[str], str]
) -> None:
    other_url = new_database("other")
    for url in (source_url, other_url):
        _make(url)
    opened = open_sections(
        source_url,
        table(title="Here", since=10),
        table(title="There", since=10),
        table(title="Here again", since=10),
        table(title="There again", since=10),
        urls={"There": other_url, "There again": other_url},
    )
    reader = reader_of(opened)

    def insert(id_: int) -> None:
        for url in (source_url, other_url):
            _change(url, f"INSERT INTO orders VALUES ({id_}, 'new', 1)")  # noqa: S608

    with reader.reading():
        sections = reader.sections()
        here = next(sections)
        insert(11)
        there = next(sections)
        insert(12)
        here_again, there_again = sections

    assert _ids(here) == _ids(here_again) == [10]
    assert _ids(there) == _ids(there_again) == [10, 11]


def test_the_databases_are_let_go_at_the_end_and_after_a_failure(source_url: str) -> None:
    make_orders(source_url, 3)

    for patience in (None, Impatient(3)):
        reader = reader_of(open_sections(source_url, NUMBER, table()), patience=patience)
        with suppress(ReceiveTimeout), reader.reading():
            list(reader.sections())
        # Neither kind of database lets go of a table that somebody reads.
        _change(source_url, "ALTER TABLE orders ADD COLUMN more integer")
        _change(source_url, "ALTER TABLE orders DROP COLUMN more")


@SQLITE
@pytest.mark.parametrize(
    ("checks", "rows", "sections"), [(0, 0, 0), (1, 0, 0), (2, 0, 0), (4, 2_500, 1), (6, 2_500, 1)]
)
def test_a_deadline_ends_it_before_a_section_and_after_a_page(
    orders: str, checks: int, rows: int, sections: int
) -> None:
    """A section of 2,500 rows has three pages: it is checked four times."""
    told: list[int] = []
    reader = reader_of(
        open_sections(orders, table(), table(title="Again")),
        patience=Impatient(checks),
        progress=told.append,
    )

    with pytest.raises(ReceiveTimeout, match="the test's deadline"), reader.reading():
        list(reader.sections())

    assert (reader.rows, len(told)) == (rows, sections)


def test_a_cancel_interrupts_the_statement_that_runs(source_url: str, database_kind: str) -> None:
    _make_endless(source_url, database_kind)

    class Cancelled(Patient):
        @contextmanager
        def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
            timer = threading.Timer(0.1, interrupt)
            timer.start()
            try:
                yield
            finally:
                timer.cancel()

    failure, seconds = _failure(source_url, Cancelled())

    assert isinstance(failure, SourceUnavailable)
    assert failure.code == "source_interrupted"
    assert seconds < 10


def test_a_statement_runs_no_longer_than_the_time_that_is_left(
    source_url: str, database_kind: str
) -> None:
    _make_endless(source_url, database_kind)

    class InAHurry(Patient):
        def remaining(self) -> float:
            return 0.2

    failure, seconds = _failure(source_url, InAHurry())

    assert isinstance(failure, ReceiveTimeout)
    assert seconds < 10


def test_no_database_is_opened_when_no_time_is_left(source_url: str) -> None:
    make_orders(source_url, 1)

    class TooLate(Patient):
        def remaining(self) -> float:
            return 0.0

    failure, _ = _failure(source_url, TooLate())

    assert isinstance(failure, ReceiveTimeout)


def test_a_dropped_column_breaks_the_source_and_names_the_dataset(source_url: str) -> None:
    make_orders(source_url, 1)
    _change(source_url, "ALTER TABLE orders DROP COLUMN amount")

    failure, _ = _failure(source_url, Patient())

    assert isinstance(failure, SourceBroken)
    assert "The dataset orders cannot be read as it is defined" in failure.message


@SQLITE
def test_a_value_that_is_none_of_its_type_is_not_told(source_url: str) -> None:
    make_orders(source_url, 1)
    _change(source_url, "UPDATE orders SET amount = 'confidential'")

    failure, _ = _failure(source_url, Patient())

    assert isinstance(failure, SourceBroken)
    assert "'amount'" in failure.message
    assert "confidential" not in failure.message


def _make(url: str) -> None:
    """Make ten orders that can be written while they are read."""
    make_orders(url, 10)
    if url.startswith("sqlite"):
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        engine.dispose()


def _make_endless(url: str, database_kind: str) -> None:
    """Make orders that it takes minutes to read."""
    slow = (
        "SELECT 1 AS id, 'r' AS region, 1.0 AS amount FROM pg_sleep(60)"
        if database_kind == "postgresql"
        else "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
        " WHERE n < 1000000000) SELECT 1 AS id, 'r' AS region, max(n) AS amount FROM numbers"
    )
    _change(url, f"CREATE VIEW orders AS {slow}")


def _change(url: str, statement: str) -> None:
    is_sqlite = url.startswith("sqlite")
    patience = {"timeout": 1} if is_sqlite else {"options": "-c lock_timeout=1000"}
    engine = sa.create_engine(url, connect_args=patience)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def _failure(url: str, patience: Patient) -> tuple[QueriesError, float]:
    """Read a table; return how it failed and in how many seconds."""
    began = time.monotonic()
    reader = reader_of(open_sections(url, table()), patience=patience)
    with pytest.raises(QueriesError) as failed, reader.reading():
        list(reader.sections())
    return failed.value, time.monotonic() - began


def _number(content: Content) -> tuple[object, bool]:
    assert isinstance(content.shown, Number)
    return content.shown.value, content.shown.is_empty


def _table(content: Content) -> Sequence[Sequence[object]]:
    assert isinstance(content.shown, Table)
    return content.shown.rows


def _rows(content: Content) -> list[tuple[object, object]]:
    return [(row[0], row[1]) for row in _table(content)]


def _ids(content: Content) -> list[object]:
    return [row[0] for row in _table(content)]
