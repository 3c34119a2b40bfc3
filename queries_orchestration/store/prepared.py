"""Statements that each kept connection of PostgreSQL plans once: to plan costs more than to run.

The driver of the store prepares nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from psycopg2.errors import FeatureNotSupported
from sqlalchemy import Connection, Engine, Executable, event

from queries_orchestration.store.roles import WORKSPACE_VARIABLE

_WORKSPACE: Final = "queries_workspace"
# In one message with the statement that it is for: the server is asked no second time, and both
# are one transaction, with which it ends.
_ENTER: Final = f"SELECT set_config('{WORKSPACE_VARIABLE}', %({_WORKSPACE})s, true); "
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


def bound(connection: Connection, workspace_id: str) -> Connection:
    """Return a connection of an engine that prepares, whose statements are of one workspace.

    It is outside any transaction, so that each statement is one.
    """
    return connection.execution_options(**{_WORKSPACE: workspace_id})


def prepare_statements(engine: Engine) -> None:
    """Have the connections of ``engine`` plan once what is :func:`as_prepared`."""
    event.listen(engine, "do_execute", _execute)


def _execute(
    cursor: Any, statement: str, parameters: Mapping[str, Any], context: Any
) -> bool | None:
    name = context.execution_options.get(_NAME)
    workspace_id = context.execution_options.get(_WORKSPACE)
    if name is None and workspace_id is None:
        return None
    if workspace_id is None:
        entrance, given = "", parameters
    else:
        entrance, given = _ENTER, {**parameters, _WORKSPACE: workspace_id}
    if name is None:
        cursor.execute(entrance + statement, given)
        return True
    prepared: dict[str, bool] = context.root_connection.info.setdefault(_PREPARED, {})
    if not prepared.get(name):
        if name in prepared:
            cursor.execute(f"DEALLOCATE {name}")
        _prepare(cursor, name, statement, parameters)
        prepared[name] = True
    values = ", ".join(f"%({parameter})s" for parameter in parameters)
    execution = entrance + (f"EXECUTE {name} ({values})" if values else f"EXECUTE {name}")
    try:
        cursor.execute(execution, given)
    except FeatureNotSupported:
        # A column has another type since, as after an upgrade: what was planned is of no more use.
        prepared[name] = False
        if not cursor.connection.autocommit:
            raise  # its transaction can do nothing any more
        cursor.execute(f"DEALLOCATE {name}")
        _prepare(cursor, name, statement, parameters)
        prepared[name] = True
        cursor.execute(execution, given)
    return True


def _prepare(cursor: Any, name: str, statement: str, parameters: Mapping[str, Any]) -> None:
    places = {parameter: f"${place}" for place, parameter in enumerate(parameters, 1)}
    cursor.execute(f"PREPARE {name} AS {statement % places}")
