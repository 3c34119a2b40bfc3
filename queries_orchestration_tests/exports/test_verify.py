"""A file proven complete against its record, and the first difference named where it is not."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from openpyxl import Workbook

from queries_orchestration.exports.file_reader import CsvReader, XlsxReader
from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.verify import Proof, verify_export
from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import NotFound, QueriesError
from queries_orchestration_tests.downloads import (
    STAFF,
    change_export,
    export_of,
    put_file,
)
from queries_orchestration_tests.exports import read_back
from queries_orchestration_tests.exports.admitted import admit
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.report_house import build_report_house


def verify(house: House, export_id: str, person: str = "ada") -> Proof:
    return verify_export(
        house.backends.database,
        house.backends.storage,
        clock=house.clock,
        workspace_id=house.workspace_id,
        person_id=house.person(person),
        export_id=export_id,
    )


def made(house: House, file_format: str = "csv") -> str:
    export_id = admit(house, file_format=file_format)
    assert house.work("export") == ["ready"]
    return export_id


def content_of(house: House, export_id: str) -> bytes:
    with house.backends.storage.open(export_of(house, export_id).storage_key) as file:
        return file.read()


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_a_file_as_it_was_made_is_complete(house: House, file_format: str) -> None:
    export_id = made(house, file_format)
    content = content_of(house, export_id)

    proof = verify(house, export_id)

    assert proof.difference is None
    assert (proof.size, proof.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert (proof.rows, proof.columns) == (2_500, ("Order", "Region", "amount"))


def test_the_file_of_a_delivery_is_proven_to_who_governs_it_and_to_nobody_else(
    house: House,
) -> None:
    house.apply(STAFF)
    assert house.deliver(MONDAY) == ["delivered"]
    export_id = house.export(house.history()[0].key).id

    for person in ("ada", "eve"):
        assert verify(house, export_id, person).difference is None
    for person, asked in (("bob", export_id), ("gus", export_id), ("ada", "x")):
        with pytest.raises(NotFound):
            verify(house, asked, person)


@pytest.mark.parametrize("file_format", ["pdf", "xlsx"])
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_report_is_proven_by_its_bytes(
    tmp_path: Path, store_url: str, source_url: str, file_format: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    export_id = house.ask_export("sales", file_format=file_format)
    assert house.work("report") == ["ready"]

    proof = verify(house, export_id)

    assert (proof.difference, proof.rows, proof.columns) == (None, None, None)
    assert proof.sha256 == export_of(house, export_id).sha256
    put_file(house, export_id, content_of(house, export_id)[:-1] + b"x")
    assert "SHA-256" in (verify(house, export_id).difference or "")


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


CHANGED: list[tuple[Callable[[bytes], bytes], str]] = [
    (flipped, "The file's SHA-256 is "),
    (lambda content: content[:-1], "The file has {less} bytes, {size} were recorded."),
    (lambda content: content[: len(content) // 2], "The file has "),
    (lambda _content: b"", "The file has 0 bytes, {size} were recorded."),
    (lambda content: content + b"\n", "The file has {more} bytes, {size} were recorded."),
]


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_other_bytes_than_were_written_are_the_first_difference(
    house: House, file_format: str
) -> None:
    export_id = made(house, file_format)
    content = content_of(house, export_id)
    size = len(content)

    for change, told in CHANGED:
        put_file(house, export_id, change(content))
        proof = verify(house, export_id)
        assert proof.difference is not None
        assert proof.difference.startswith(told.format(size=size, less=size - 1, more=size + 1))
        # What is in such a file is not read.
        assert (proof.rows, proof.columns) == (None, None)
    put_file(house, export_id, content)
    assert verify(house, export_id).difference is None


def test_an_object_that_is_gone_is_a_difference(house: House) -> None:
    export_id = made(house)
    house.backends.storage.delete(export_of(house, export_id).storage_key)

    proof = verify(house, export_id)

    assert proof.difference == "The storage holds no file of it."
    assert proof.size is None


COLUMNS = [
    {"label": "Order", "type": "integer"},
    {"label": "Region", "type": "text"},
    {"label": "amount", "type": "decimal"},
]
RECORDED: list[tuple[dict[str, Any], str | None]] = [
    ({"rows": 2_499}, "The file has 2500 rows, 2499 were recorded."),
    ({"rows": 2_501}, "The file has 2500 rows, 2501 were recorded."),
    ({"columns": COLUMNS[:2]}, "The file has 3 columns, 2 were recorded."),
    (
        {"columns": [*COLUMNS[:2], {"label": "Amount", "type": "decimal"}]},
        "Column 3 of the file is 'amount', 'Amount' was recorded.",
    ),
    ({"columns": None}, None),  # made before columns were recorded
]


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize(("recorded", "told"), RECORDED)
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_record_that_says_something_else_is_the_difference(
    house: House, file_format: str, recorded: dict[str, Any], told: str | None
) -> None:
    export_id = made(house, file_format)
    change_export(house, export_id, **recorded)

    proof = verify(house, export_id)

    assert proof.difference == told
    assert (proof.rows, proof.columns) == (2_500, ("Order", "Region", "amount"))


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_header_that_its_format_changes_is_that_of_the_record(
    house: House, file_format: str
) -> None:
    house.apply(
        "workspace: {name: acme}\n"
        "queries:\n"
        "  odd:\n"
        "    title: Odd\n"
        "    dataset: orders\n"
        "    fields:\n"
        "      - {field: id, label: '=1+1'}\n"
        "      - {field: region, label: 'A \"quoted\", _x0041_ label'}\n"
    )
    export_id = admit(house, query="odd", file_format=file_format)
    assert house.work("export") == ["ready"]

    proof = verify(house, export_id)

    assert (proof.difference, proof.rows) == (None, 2_500)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"state": "running"}, "not_ready"),
        ({"state": "failed", "code": "source_broken"}, "export_failed"),
        ({"state": "cancelled"}, "cancelled"),
        ({"state": "expired"}, "file_expired"),
    ],
)
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_where_there_is_no_file_to_prove_that_is_said(
    house: House, change: dict[str, Any], code: str
) -> None:
    export_id = made(house)
    change_export(house, export_id, **change)

    with pytest.raises(QueriesError) as refused:
        verify(house, export_id)

    assert refused.value.code == code


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_file_whose_time_is_over_is_not_proven(house: House) -> None:
    export_id = made(house)
    house.clock.at += timedelta(days=8)

    with pytest.raises(QueriesError) as refused:
        verify(house, export_id)

    assert refused.value.code == "file_expired"


TEXTS = st.text(st.sampled_from('a",;\r\n= ü'), max_size=6)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.none() | TEXTS, min_size=width, max_size=width), min_size=1, max_size=8
        )
    ),
    st.integers(1, 7),
)
def test_rows_and_header_of_any_csv_file_are_counted_in_any_chunks(
    rows: list[list[str | None]], size: int
) -> None:
    stream = io.StringIO()
    for row in rows:
        quoted = ('"' + text.replace('"', '""') + '"' if text is not None else "" for text in row)
        stream.write(",".join(quoted) + "\n")
    content = stream.getvalue().encode()
    reader = CsvReader()

    for start in range(0, len(content), size):
        reader.take(content[start : start + size])

    told = reader.content()
    assert told.rows == len(list(csv.reader(io.StringIO(stream.getvalue(), newline="")))) - 1
    assert told.rows == len(rows) - 1
    assert list(told.header) == [text or "" for text in rows[0]] or rows[0] == [None]


def test_a_csv_file_that_ends_within_a_row_counts_it(tmp_path: Path) -> None:
    for content, rows in ((b"", 0), (b"a\n", 0), (b"a\n1", 1), (b'a\n"1\n', 1), (b"a\n1\n2\n", 2)):
        reader = CsvReader()
        reader.take(content)
        assert reader.content().rows == rows, content


@pytest.mark.parametrize("chunk", [1, 7, 1_000_000])
def test_rows_of_all_sheets_are_counted_also_those_of_null_alone(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries_orchestration.exports.file_reader.CHUNK_BYTES", chunk)
    file_format: FileFormat = "xlsx"
    page: list[list[object]] = [
        ["<row r='1'>", None],
        [None, None],
        ["<row>", "=row"],
        [None, None],
    ]
    content = read_back.written(file_format, [Column("A", "text"), Column("B", "text")], page)
    reader = XlsxReader(io.BytesIO())

    reader.take(content)

    told = reader.content()
    assert (told.header, told.rows) == (("A", "B"), 4)


@pytest.mark.parametrize(("second", "told"), [(("A", "B"), (("A", "B"), 3)), (("A", "C"), ((), 3))])
def test_each_sheet_of_a_workbook_has_the_header(
    second: tuple[str, ...], told: tuple[tuple[str, ...], int]
) -> None:
    book = Workbook(write_only=True)
    for header, rows in ((("A", "B"), 2), (second, 1)):
        sheet = book.create_sheet()
        for row in [header] + [(1, 2)] * rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    reader = XlsxReader(io.BytesIO())

    reader.take(file.getvalue())

    content = reader.content()
    assert (content.header, content.rows) == told
