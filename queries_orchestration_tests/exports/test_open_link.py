"""The command opens a download link, whoever serves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queries_orchestration.exports.download import download
from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.exports.open_link import open_link
from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.interface import RedeemedFile
from queries_orchestration.store.tables import exports
from queries_orchestration_tests.conftest import CI
from queries_orchestration_tests.downloads import CONTENT, request_file
from queries_orchestration_tests.house import House
from queries_orchestration_tests.storage.s3_server import (
    S3Server,
    S3ServerNotFound,
    running_s3_server,
)


@pytest.fixture(scope="module")
def s3_server() -> Iterator[S3Server]:
    try:
        with running_s3_server() as server:
            yield server
    except S3ServerNotFound as error:
        if CI:
            raise
        pytest.skip(str(error))


@pytest.fixture(params=["folder", "bucket"])
def house(request: pytest.FixtureRequest, house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """A house that keeps its files in either storage, at the real time, by which a bucket goes."""
    house.clock.at = datetime.now(UTC)
    if request.param == "folder":
        return house
    server: S3Server = request.getfixturevalue("s3_server")
    for variable, value in server.environment.items():
        monkeypatch.setenv(variable, value)
    storage = open_storage(
        server.url(house.workspace_id),
        public_url=house.backends.settings.public_url,
        link_keys=house.backends.link_keys,
    )
    return replace(house, backends=replace(house.backends, storage=storage))


def link_of(house: House) -> DownloadLink:
    return download(
        house.backends.database,
        house.backends.storage,
        clock=house.clock,
        environment=house.environment,
        workspace_id=house.workspace_id,
        by=house.by("ada"),
        export_id=request_file(house, "ada"),
    )


def opened(house: House, link: DownloadLink) -> RedeemedFile:
    return open_link(house.backends.storage, link, now=house.clock())


def test_a_link_gives_the_file_with_its_name_type_and_size(house: House) -> None:
    found = opened(house, link_of(house))
    assert found.file_name.startswith("All orders ")
    assert (found.content_type, found.size) == ("text/csv; charset=utf-8", len(CONTENT))
    with found.stream as stream:
        assert stream.read() == CONTENT


def test_a_link_that_was_changed_or_whose_file_is_gone_is_refused(house: House) -> None:
    link = link_of(house)
    with pytest.raises(LinkRefused):
        opened(house, replace(link, url=f"{link.url}0"))
    (key,) = link_keys_of(house)
    house.backends.storage.delete(key)
    with pytest.raises(LinkRefused):
        opened(house, link)


def link_keys_of(house: House) -> list[str]:
    """The keys of the files that lie in the storage."""
    with house.backends.database.across.read() as connection:
        return list(connection.scalars(exports.select().with_only_columns(exports.c.storage_key)))


def test_a_link_lasts_five_minutes(house: House) -> None:
    link = link_of(house)
    assert link.expires_at == house.clock.at.replace(microsecond=0) + timedelta(minutes=5)
