"""Hop 4 of an export: pages into parts, whole or not at all."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from python_calamine import CalamineWorkbook

from queries_orchestration.exports.file_writer import FileFormat, FileOptions
from queries_orchestration.exports.generate import GeneratedFile, generate
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.query_file import write_query
from queries_orchestration.model.access import Actor
from queries_orchestration.model.columns import Column
from queries_orchestration.model.compile import compile_query
from queries_orchestration.model.datasets import parse_dataset
from queries_orchestration.model.errors import QueriesError, ReceiveTimeout
from queries_orchestration.model.queries import parse_query
from queries_orchestration.storage.interface import Storage
from queries_orchestration_tests.storage.files import open_files

MIB = 1024 * 1024
ROWS = 60_000
READ_AT = datetime(2027, 1, 4, 7, tzinfo=UTC)


class Unhurried:
    """Lets the work take its time, or ends it at the given page."""

    statement_seconds = None

    def __init__(self, pages: int | None = None) -> None:
        self.pages = pages

    def check(self) -> None:
        if self.pages is not None:
            self.pages -= 1
            if self.pages < 0:
                raise ReceiveTimeout("the test's deadline")

    def remaining(self) -> float:
        return timedelta(minutes=5).total_seconds()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        yield


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_files(tmp_path / "files")


@pytest.fixture
def opened(source_url: str) -> OpenedQuery:
    """A query of many rows, each some 200 bytes, over a real source."""
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE notes (id integer PRIMARY KEY, note text)"))
        connection.execute(
            sa.text(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)"
                " INSERT INTO notes SELECT i, 'note ' || i || :rest FROM n"
            ),
            {"rows": ROWS, "rest": " x" * 100},
        )
    engine.dispose()
    dataset = parse_dataset(
        {
            "name": "notes",
            "relation": "notes",
            "fields": [
                {"name": "id", "type": "integer", "nullable": False},
                {"name": "note", "type": "text"},
            ],
            "key": ["id"],
            "access": [{"who": {"everyone": True}, "fields": "all", "rows": "all"}],
        }
    )
    query = parse_query(
        {"dataset": "notes", "fields": [{"field": "id"}, {"field": "note"}]}, dataset
    )
    actor = Actor("p1", "ada", frozenset({"author"}), True)
    return OpenedQuery(
        compiled=compile_query(query, dataset, actor, {}),
        stored_values={},
        database_url=source_url,
        database_name="The connection",
    )


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_every_row_arrives_in_both_formats_through_parts(
    opened: OpenedQuery, storage: Storage, file_format: FileFormat
) -> None:
    progress: list[tuple[int, int]] = []

    made = _generate(opened, storage, file_format, progress=lambda *done: progress.append(done))

    with storage.open(f"w/e.{file_format}") as file:
        data = file.read()
    expected = [[float(n), f"note {n}" + " x" * 100] for n in range(1, ROWS + 1)]
    if file_format == "csv":
        assert len(data) > 2 * 5 * MIB  # more than two parts
        assert data.decode().splitlines() == [
            "id,note",
            *(f"{number:.0f},{note}" for number, note in expected),
        ]
    else:
        sheet = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
        assert sheet.to_python()[1:] == expected
    assert (made.written.rows, made.size) == (ROWS, len(data))
    assert made.written.columns == (Column("id", "integer"), Column("note", "text"))
    assert made.written.snapshot_at == READ_AT
    assert made.sha256 == hashlib.sha256(data).hexdigest()
    by_copy = [10, *range(110, ROWS, 1_000), ROWS]  # the first pages are small
    assert [rows for rows, _ in progress] in (by_copy, [*range(1_000, ROWS + 1, 1_000)])


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("pages", [0, 1, 30, 60])
def test_a_failure_in_any_page_leaves_no_file_and_no_upload(
    opened: OpenedQuery, storage: Storage, file_format: FileFormat, pages: int
) -> None:
    with pytest.raises(ReceiveTimeout):
        _generate(opened, storage, file_format, patience=Unhurried(pages))

    assert storage.size(f"w/e.{file_format}") is None
    assert storage.open_uploads("") == []


def test_a_source_that_fails_in_the_middle_leaves_no_file_and_no_upload(
    opened: OpenedQuery, storage: Storage, source_url: str
) -> None:
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE notes"))
    engine.dispose()

    with pytest.raises(QueriesError) as failed:
        _generate(opened, storage, "csv")

    assert failed.value.code == "source_broken"
    assert storage.size("w/e.csv") is None
    assert storage.open_uploads("") == []


def _generate(
    opened: OpenedQuery,
    storage: Storage,
    file_format: FileFormat,
    *,
    patience: Unhurried | None = None,
    progress: Callable[[int, int], None] = lambda _rows, _size: None,
) -> GeneratedFile:
    key = f"w/e.{file_format}"
    patience = patience or Unhurried()
    return generate(
        partial(
            write_query,
            opened=opened,
            file_format=file_format,
            options=FileOptions(time_zone="Europe/Berlin"),
            patience=patience,
            clock=lambda: READ_AT,
        ),
        storage=storage,
        storage_key=key,
        upload_id=storage.begin_upload(key, "application/octet-stream"),
        part_bytes=5 * MIB,
        patience=patience,
        progress=progress,
    )
