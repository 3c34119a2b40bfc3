"""The functions by which SQLite reads what it stores strictly as a field's type."""

from __future__ import annotations

import sqlite3

from queries_orchestration.model import sqlite_values, stored_totals, values


def register_functions(driver: sqlite3.Connection) -> None:
    """Let a connection know what :mod:`queries_orchestration.model.sqlite_values` calls."""
    for name, arguments, function in (
        (sqlite_values.SQLITE_VALUE, 2, values.stored_value),
        (sqlite_values.SQLITE_COMPARE, 3, values.compare_stored),
        (sqlite_values.SQLITE_ONE_FORM, 2, values.one_form),
        (sqlite_values.SQLITE_WHOLE, 2, stored_totals.whole_of_halves),
    ):
        driver.create_function(name, arguments, function, deterministic=True)
    for name, aggregate in (
        (sqlite_values.SQLITE_SUM, stored_totals.ExactSum),
        (sqlite_values.SQLITE_AVERAGE, stored_totals.ExactAverage),
        (sqlite_values.SQLITE_LEAST, stored_totals.Least),
        (sqlite_values.SQLITE_GREATEST, stored_totals.Greatest),
    ):
        # The stubs know aggregates of integers only.
        driver.create_aggregate(name, 2, aggregate)  # type: ignore[arg-type]
