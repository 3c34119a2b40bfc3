"""An archive never sought, whose sizes have 32 bits, and that is whole only when finished."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.exports.xlsx_stream import zip_stream
from queries_orchestration.exports.xlsx_stream.zip_stream import ZipStream
from queries_orchestration.model.errors import FormatLimit
from queries_orchestration_tests.exports.read_back import Sink


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0/\\"), min_size=1),
        st.lists(st.binary()),
    )
)
def test_members_of_any_name_and_content_read_back(members: dict[str, list[bytes]]) -> None:
    sink = Sink()
    archive = ZipStream(sink)
    for name, parts in members.items():
        archive.open(name)
        for part in parts:
            archive.write(part)
        assert archive.member_bytes == len(b"".join(parts))
        archive.close_member()
    archive.finish()
    with zipfile.ZipFile(io.BytesIO(sink.content)) as read:
        assert read.testzip() is None
        assert {name: read.read(name) for name in read.namelist()} == {
            name: b"".join(parts) for name, parts in members.items()
        }


def test_the_sizes_follow_each_member_and_have_32_bits() -> None:
    sink = Sink()
    archive = ZipStream(sink)
    archive.add("a", b"x" * 10_000)
    archive.finish()
    assert len(sink.content) < 300
    with zipfile.ZipFile(io.BytesIO(sink.content)) as read:
        (member,) = read.infolist()
    assert (member.flag_bits & 8, member.extract_version, member.extra) == (8, 20, b"")
    assert b"PK\6\6" not in sink.content


def test_the_same_members_are_the_same_bytes() -> None:
    sinks = [Sink(), Sink()]
    for sink in sinks:
        archive = ZipStream(sink)
        archive.add("a", b"x")
        archive.finish()
    assert sinks[0].content == sinks[1].content


def test_an_archive_given_up_is_never_finished() -> None:
    sink = Sink()
    archive = ZipStream(sink)
    archive.add("a", b"x")
    archive.open("b")
    archive.write(b"y")
    written = sink.content
    del archive
    assert sink.content == written
    assert not zipfile.is_zipfile(io.BytesIO(written))


@pytest.mark.parametrize("where", ["write", "close", "finish"])
def test_an_archive_that_would_be_too_large_is_refused_and_csv_is_offered(where: str) -> None:
    sink = Sink()
    whole = ZipStream(sink)
    whole.add("a", bytes(range(256)))
    whole.finish()
    size = len(sink.content)
    most = {"write": 20, "close": size - 80, "finish": size - 1}[where]
    small = Sink()
    archive = ZipStream(small, most_bytes=most)
    with pytest.raises(FormatLimit, match=f"more than {most} bytes.*CSV") as caught:
        _write(archive)
    assert caught.value.code == "format_limit"
    assert len(small.content) <= most
    _write(ZipStream(Sink(), most_bytes=size))


def _write(archive: ZipStream) -> None:
    archive.add("a", bytes(range(256)))
    archive.finish()


def test_a_member_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_stream, "MOST_BYTES", 1_000)
    archive = ZipStream(Sink())
    archive.open("a")
    archive.write(b"x" * 1_000)
    with pytest.raises(FormatLimit, match="more than 1,000 bytes"):
        archive.write(b"x")
