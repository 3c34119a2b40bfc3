"""The local folder's links: what comes, whole or in part, under which name, and to nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from queries_orchestration.exports.open_link import redeem
from queries_orchestration.model import storage_links
from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.storage_links import StorageLink
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.web.file_answer import CHUNK_BYTES, read_range
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.web.site import PUBLIC_URL, Site, open_site

CONTENT = bytes(range(256)) * 4_096 + b"the end"  # several chunks
KEY = "acme/file.csv"
NAME = 'Отчёт "Q1" 2027-01-04.csv'


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """The store is not asked."""
    kind: str = request.param
    return kind


@pytest.fixture
def site(house: House) -> Iterator[Site]:
    put(house, CONTENT)
    with open_site(house) as opened:
        yield opened


def put(house: House, content: bytes) -> None:
    storage = house.backends.storage
    upload_id = storage.begin_upload(KEY, "text/csv")
    storage.complete_upload(KEY, upload_id, [storage.upload_part(KEY, upload_id, 1, content)])


def link(house: House, *, key: str = KEY, name: str = NAME) -> str:
    url = house.backends.storage.link(
        key,
        file_name=name,
        content_type="text/csv; charset=utf-8",
        expires_at=house.clock.at + timedelta(minutes=5),
    )
    return url.removeprefix(PUBLIC_URL)


def test_the_file_comes_whole_under_its_name_and_is_shown_by_nothing(site: Site) -> None:
    assert len(CONTENT) > 3 * CHUNK_BYTES
    answer = site.client.get(link(site.house))
    assert (answer.status_code, answer.content) == (200, CONTENT)
    told = answer.headers
    assert told["content-length"] == str(len(CONTENT))
    assert told["content-type"] == "text/csv; charset=utf-8"
    assert told["content-disposition"] == (
        "attachment; filename=\"_____ _Q1_ 2027-01-04.csv\"; filename*=UTF-8''"
        "%D0%9E%D1%82%D1%87%D1%91%D1%82%20%22Q1%22%202027-01-04.csv"
    )
    assert told["accept-ranges"] == "bytes"
    assert told["cache-control"] == "no-store"
    assert told["x-content-type-options"] == "nosniff"
    assert told["content-security-policy"] == "default-src 'none'; sandbox"
    assert told["referrer-policy"] == "no-referrer"
    head = site.client.head(link(site.house))
    assert (head.status_code, head.content) == (200, b"")
    assert dict(head.headers) == dict(told)


def test_a_range_and_what_goes_on_with_the_same_file_only(site: Site) -> None:
    path, size = link(site.house), len(CONTENT)
    first = site.client.get(path, headers={"Range": "bytes=0-9"})
    assert (first.status_code, first.content) == (206, CONTENT[:10])
    assert first.headers["content-range"] == f"bytes 0-9/{size}"
    assert first.headers["content-length"] == "10"
    rest = {"Range": "bytes=10-", "If-Range": first.headers["etag"]}
    second = site.client.get(path, headers=rest)
    assert (second.status_code, second.content) == (206, CONTENT[10:])

    beyond = site.client.get(path, headers={"Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.content) == (416, b"")
    assert beyond.headers["content-range"] == f"bytes */{size}"
    for part in ("bytes=0-9", f"bytes={size}-"):  # of a GET alone
        whole = site.client.head(path, headers={"Range": part})
        assert (whole.status_code, whole.headers["content-length"]) == (200, str(size))
    several = site.client.get(path, headers={"Range": "bytes=0-1,3-4"})
    assert (several.status_code, several.content) == (200, CONTENT)

    put(site.house, CONTENT[::-1])
    other = site.client.get(path, headers=rest)
    assert (other.status_code, other.content) == (200, CONTENT[::-1])


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, None),
        ("bytes=0-0", (0, 1)),
        ("bytes=5-", (5, 10)),
        ("bytes=5-99", (5, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes=-0", (10, 10)),
        ("bytes=10-", (10, 10)),
        ("bytes=12-13", (12, 12)),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("bytes=0-1,2-3", None),
        ("lines=0-1", None),
        ("bytes=9999999999999999999999-", None),
        ("", None),
    ],
)
def test_what_a_range_asks_for(header: str | None, span: tuple[int, int] | None) -> None:
    assert read_range(header, 10) == span


def test_an_empty_file_is_a_file(site: Site) -> None:
    put(site.house, b"")
    path = link(site.house)
    assert site.client.get(path).content == b""
    assert site.client.get(path, headers={"Range": "bytes=0-"}).status_code == 416


def test_a_link_ends_after_five_minutes_and_not_while_a_file_is_sent(site: Site) -> None:
    path = link(site.house)
    site.house.clock.at += timedelta(minutes=5, seconds=-1)
    with site.client.stream("GET", path) as answer:
        site.house.clock.at += timedelta(seconds=1)
        assert b"".join(answer.iter_bytes()) == CONTENT
    assert site.client.get(path).status_code == 410


@pytest.mark.parametrize("key", ["../../etc/passwd", "/etc/passwd", ".uploads/x", "a/../b", "a\0b"])
def test_no_path_leads_out_of_the_folder_even_under_our_own_key(site: Site, key: str) -> None:
    forged = StorageLink(
        key=key,
        file_name="x.csv",
        content_type="text/csv",
        expires_at=site.house.clock.at + timedelta(minutes=1),
    )
    token = storage_links.sign(site.house.backends.link_keys, forged)
    refused = site.client.get("/files/made-up")
    assert refused.status_code == 410
    assert site.client.get(f"/files/{token}").content == refused.content


def test_a_file_that_is_gone_has_the_common_page(site: Site) -> None:
    path = link(site.house)
    site.house.backends.storage.delete(KEY)
    assert site.client.get(path).content == site.client.get("/files/made-up").content


def test_many_at_once_each_get_all_of_it_and_leave_nothing_open(site: Site) -> None:
    path = link(site.house)
    got: list[bytes] = []

    def take() -> None:
        got.append(site.client.get(path).content)

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [CONTENT] * 6
    with site.client.stream("GET", path) as answer:
        next(answer.iter_bytes())  # and goes away
    folder = str(site.house.folder)
    still_open = [
        one for one in Path("/proc/self/fd").iterdir() if str(_target(one)).startswith(folder)
    ]
    assert [one for one in still_open if str(_target(one)).endswith("file.csv")] == []


def _target(link: Path) -> Path:
    try:
        return link.readlink()
    except OSError:
        return Path()


def test_where_an_object_store_serves_its_own_links_we_serve_none(site: Site) -> None:
    keys = LinkKeys.parse(f"test:{'s' * 40}")
    bucket = open_storage("s3://bucket/prefix", public_url=PUBLIC_URL, link_keys=keys)
    token = link(site.house).rpartition("/")[2]
    assert isinstance(site.house.backends.storage, LocalStorage)
    with pytest.raises(LinkRefused):
        redeem(bucket, token, now=MONDAY)
