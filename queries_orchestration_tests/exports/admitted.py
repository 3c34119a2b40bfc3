"""What tests of interactive exports share: admit one, look at everything, stop it at a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.model.audit import By
from queries_orchestration.store.tables import metadata, requests
from queries_orchestration_tests.house import House


class Killed(BaseException):
    """Ends a process at a point; nothing of ours catches it."""


def admit(house: House, person: str = "ada", **asked: Any) -> str:
    """Admit an interactive export of a person of the house, as ``admit_as``."""
    return admit_as(house, house.person(person), **asked)


def admit_as(
    house: House,
    person_id: str,
    *,
    query: str = "all-orders",
    file_format: FileFormat = "csv",
    values: dict[str, Any] | None = None,
    time_zone: str | None = None,
    client_key: str | None = None,
) -> str:
    """Admit an interactive export; returns its id."""
    return admit_export(
        house.backends,
        house.workspace_id,
        by=By(via="command", person_id=person_id),
        source_name=query,
        file_format=file_format,
        given_values=values or {},
        time_zone=time_zone,
        client_key=client_key,
    )


def everything(house: House) -> dict[str, list[str]]:
    """Return all rows of the store."""
    with house.backends.database.across.read() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(sa.select(table))))
            for table in metadata.sorted_tables
        }


def requested(house: House) -> list[str]:
    """Return the exports that have a request row."""
    with house.backends.database.across.read() as connection:
        return list(connection.scalars(sa.select(requests.c.export_id)))


def at_point(house: House, point: str, do: Callable[[], object]) -> House:
    """Return the house in which ``do`` is called once, when the work reaches ``point``."""
    done: list[str] = []

    def reached(step: str) -> None:
        if step == point and not done:
            done.append(step)
            do()

    return house.with_backends(replace(house.backends, reached=reached))


def killed_at(house: House, point: str) -> House:
    """Return the house in which the work is killed at ``point``."""

    def kill() -> None:
        raise Killed

    return at_point(house, point, kill)
