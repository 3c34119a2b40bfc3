"""Statements that each kept connection of PostgreSQL plans once: to plan costs more than to run.

The driver of the store prepares nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from psycopg2.errors import FeatureNotSupported
from sqlalchemy import Engine, Executable, event

_NAME: Final = "queries_prepared_as"
_PREPARED: Final = "queries_prepared"
"""In what a connection carries along: the names it has, each with whether its plan is of use."""

Statement = TypeVar("Statement", bound=Executable)


def as_prepared(statement: Statement, name: str) -> Statement:
    """Return ``statement``, to be planned once where connections are kept, as it was elsewhere.

    Args:
        name: an SQL identifier, of this statement alone.
    """
    return statement.execution_options(**{_NAME: name})


def prepare_statements(engine: Engine) -> None:
    """Have the connections of ``engine`` plan once what is :func:`as_prepared`."""
    event.listen(engine, "do_execute", _execute)


def _execute(
    cursor: Any, statement: str, parameters: Mapping[str, Any], context: Any
) -> bool | None:
    name = context.execution_options.get(_NAME)
    if name is None:
        return None
    prepared: dict[str, bool] = context.root_connection.info.setdefault(_PREPARED, {})
    if not prepared.get(name):
        if name in prepared:
            cursor.execute(f"DEALLOCATE {name}")
        _prepare(cursor, name, statement, parameters)
        prepared[name] = True
    values = ", ".join(f"%({parameter})s" for parameter in parameters)
    execution = f"EXECUTE {name} ({values})" if values else f"EXECUTE {name}"
    try:
        cursor.execute(execution, parameters)
    except FeatureNotSupported:
        # A column has another type since, as after an upgrade: what was planned is of no more use.
        prepared[name] = False
        if not cursor.connection.autocommit:
            raise  # its transaction can do nothing any more
        cursor.execute(f"DEALLOCATE {name}")
        _prepare(cursor, name, statement, parameters)
        prepared[name] = True
        cursor.execute(execution, parameters)
    return True


def _prepare(cursor: Any, name: str, statement: str, parameters: Mapping[str, Any]) -> None:
    places = {parameter: f"${place}" for place, parameter in enumerate(parameters, 1)}
    cursor.execute(f"PREPARE {name} AS {statement % places}")
