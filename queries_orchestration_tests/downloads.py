"""What tests of downloads and links share: more people, files of single requests, the click."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.model.ids import new_id
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.store import downloads, exports, people, sources
from queries_orchestration.store.downloads import Download
from queries_orchestration.store.exports import Export
from queries_orchestration.store.tables import exports as exports_table
from queries_orchestration_tests.house import House

STAFF = """\
workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}
people:
  eve: {title: Eve Admin, address: eve@example.org, roles: [administrator, author]}
  fay: {title: Fay Admin, address: fay@example.org, roles: [administrator]}
  gus: {title: Gus Author, address: gus@example.org, roles: [author]}
"""
"""eve governs every schedule; fay would, but sees no orders; gus sees them, but governs none."""

INTERACTIVE_LIFETIME = timedelta(days=7)
CONTENT = b"Order,Region\n1,r1\n"


def person_id(house: House, name: str) -> str:
    with house.backends.database.across.read() as connection:
        person = people.by_name(connection, house.workspace_id, name)
    assert person is not None
    return person.id


def request_file(
    house: House, person: str, *, query: str = "all-orders", values: dict[str, Any] | None = None
) -> str:
    """Make the file of an interactive export at the clock's time; returns the export's id."""
    export_id = new_id()
    with house.backends.database.across.transaction() as connection:
        source = sources.by_name(connection, house.workspace_id, query)
        assert source is not None
        exports.queue(
            connection,
            house.workspace_id,
            export_id,
            purpose="interactive",
            source_id=source.id,
            version=source.current_version,
            file_format="csv",
            runtime_values=values or {},
            actor_id=person_id(house, person),
            time_zone="Europe/Berlin",
            at=house.clock.at,
        )
        exports.take(connection, house.workspace_id, export_id)
    put_file(house, export_id, CONTENT)
    change_export(
        house,
        export_id,
        state="ready",
        size=len(CONTENT),
        rows=1,
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        completed_at=house.clock.at,
        expires_at=house.clock.at + INTERACTIVE_LIFETIME,
    )
    return export_id


def put_file(house: House, export_id: str, content: bytes) -> None:
    storage, key = house.backends.storage, export_of(house, export_id).storage_key
    upload_id = storage.begin_upload(key, "text/csv")
    storage.complete_upload(key, upload_id, [storage.upload_part(key, upload_id, 1, content)])


def export_of(house: House, export_id: str) -> Export:
    with house.backends.database.across.read() as connection:
        found = exports.get(connection, house.workspace_id, export_id)
    assert found is not None
    return found


def change_export(house: House, export_id: str, **values: Any) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.update(exports_table).where(exports_table.c.id == export_id).values(**values)
        )


def click(house: House, link: DownloadLink) -> tuple[bytes, str, str]:
    """Open a link at the clock's time: content, file name and type."""
    storage = house.backends.storage
    assert isinstance(storage, LocalStorage)
    root, _, token = link.url.rpartition("/")
    assert root == "https://queries.example.org/files"
    found = storage.redeem(token, now=house.clock.at)
    with found.stream as stream:
        return stream.read(), found.file_name, found.content_type


def recorded(house: House, export_id: str) -> list[Download]:
    with house.backends.database.across.read() as connection:
        return downloads.of_export(connection, house.workspace_id, export_id)
