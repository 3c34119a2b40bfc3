"""What others take for the same: each baseline is a program of its own, in a started process."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg2
import sqlalchemy as sa
from sqlalchemy import make_url

from benchmarks.place import COLUMNS

_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM mixed ORDER BY id"  # noqa: S608 - our names


def psql(url: str, **_: Any) -> float:
    """``psql``'s ordered COPY to standard output, which nobody keeps."""
    parsed = make_url(url)
    with Path("/dev/null").open("wb") as nowhere:
        began = time.perf_counter()
        subprocess.run(
            ["psql", "-X", "-q", "-c", f"COPY ({_SELECT}) TO STDOUT (FORMAT csv)"],  # noqa: S607
            env={
                "PATH": _path(),
                "PGHOST": parsed.host or "",
                "PGPORT": str(parsed.port),
                "PGUSER": parsed.username or "",
                "PGPASSWORD": str(parsed.password),
                "PGDATABASE": parsed.database or "",
            },
            stdout=nowhere,
            check=True,
        )
        return time.perf_counter() - began


def pandas(url: str, rows: int, **_: Any) -> float:
    """``read_sql`` and ``to_csv`` of the first rows."""
    import pandas as pd

    engine = sa.create_engine(url)
    with tempfile.TemporaryFile("w+") as file:
        began = time.perf_counter()
        pd.read_sql(f"{_SELECT} LIMIT {rows}", engine).to_csv(file, index=False)
        return time.perf_counter() - began


def openpyxl(url: str, rows: int, **_: Any) -> float:
    """A write-only workbook of the first rows."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Orders")
    with tempfile.TemporaryFile() as file:
        began = time.perf_counter()
        sheet.append(list(COLUMNS))
        for row in _rows(url, rows):
            sheet.append(row)
        book.save(file)
        return time.perf_counter() - began


def xlsxwriter(url: str, rows: int, **_: Any) -> float:
    """A workbook in constant memory of the first rows."""
    from xlsxwriter import Workbook

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        book = Workbook(f"{folder}/orders.xlsx", options)
        sheet = book.add_worksheet("Orders")
        day = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        sheet.write_row(0, 0, list(COLUMNS))
        for number, row in enumerate(_rows(url, rows), start=1):
            for column, value in enumerate(row):
                if hasattr(value, "year"):
                    sheet.write_datetime(number, column, value, day)
                elif value is not None:
                    sheet.write(number, column, value)
        book.close()
        return time.perf_counter() - began


def unpaged(url: str, sql: str, **_: Any) -> float:
    """A query read at once and written as CSV, nothing else."""
    connection = psycopg2.connect(**_keywords(url))
    with tempfile.TemporaryFile("w+", newline="") as file, connection.cursor() as cursor:
        began = time.perf_counter()
        cursor.execute(sql)
        csv.writer(file).writerows(cursor.fetchall())
        return time.perf_counter() - began


def _rows(url: str, rows: int) -> Iterator[list[Any]]:
    """The first rows as these libraries can take them: real dates and numbers, no zones."""
    statement = f"{_SELECT} LIMIT {rows}"
    engine = sa.create_engine(url)
    kinds = [_OF_SQLITE.get(type_) for type_ in COLUMNS.values()]
    with engine.connect() as connection:
        result = connection.execution_options(stream_results=True).exec_driver_sql(statement)
        for row in result:
            values: list[Any] = list(row)
            if engine.dialect.name == "sqlite":
                values = [
                    value if value is None or kind is None else kind(value)
                    for kind, value in zip(kinds, row, strict=True)
                ]
            yield [_plain(value) for value in values]


_OF_SQLITE: Final[dict[str, Callable[[Any], Any]]] = {
    "decimal": Decimal,
    "boolean": bool,
    "date": date.fromisoformat,
    "timestamptz": datetime.fromisoformat,
}
"""What a program must make of SQLite's texts and integers, so that Excel has their values."""


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, UUID):
        return str(value)
    return json.dumps(value) if isinstance(value, dict) else value


def _keywords(url: str) -> dict[str, Any]:
    parsed = make_url(url)
    return {
        "host": parsed.host,
        "port": parsed.port,
        "user": parsed.username,
        "password": parsed.password,
        "dbname": parsed.database,
    }


def _path() -> str:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return ":".join([*map(str, found), "/usr/bin", "/bin"])


BASELINES: Final[dict[str, Callable[..., float]]] = {
    "psql": psql,
    "pandas": pandas,
    "openpyxl": openpyxl,
    "xlsxwriter": xlsxwriter,
    "unpaged": unpaged,
}


def main() -> None:
    """Run the baseline that the JSON argument names; print its seconds as JSON."""
    task = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps({"seconds": BASELINES[task.pop("name")](**task)}))


if __name__ == "__main__":
    main()
