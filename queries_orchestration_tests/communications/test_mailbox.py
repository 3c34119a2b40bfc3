"""The mailbox folder: each message once and whole, over crashes and processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.headerregistry import Address
from pathlib import Path
from urllib.parse import quote

import pytest

from queries_orchestration.communications import open_communications
from queries_orchestration.communications.interface import (
    Message,
    message_id,
    unsubscribe_headers,
)
from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.model.errors import CommunicationsUnavailable, InvalidSettings

NOW = datetime(2026, 5, 4, 5, tzinfo=UTC)
SENDER = Address("Reports", "reports", "q.example.org")
LINK = "https://q.example.org/d/" + "x" * 500


def mailbox(folder: Path, now: datetime = NOW) -> Mailbox:
    return Mailbox(folder, sender=SENDER, clock=lambda: now)


def message(key: str = "s1@20260504T050000Z.p1", subject: str = "Daily sales") -> Message:
    return Message(
        communication_key=key,
        recipient_name="Ann",
        recipient_address="ann@e.test",
        subject=subject,
        text=f"Hello\n\n{LINK}\n",
        html=f'<a href="{LINK}">Download</a>',
        message_id=message_id(key, "q.example.org"),
        headers=unsubscribe_headers("https://q.example.org/u/" + "y" * 300),
    )


def test_a_message_is_a_file_with_the_name_of_its_key(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "mailbox"
    mailbox(folder).submit(message())
    assert [file.name for file in folder.iterdir()] == ["s1@20260504T050000Z.p1.eml"]


def test_only_our_own_account_reads_the_links(tmp_path: Path) -> None:
    folder = tmp_path / "mailbox"
    mailbox(folder).submit(message())
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_first_message_of_a_key_keeps_its_bytes(tmp_path: Path) -> None:
    assert mailbox(tmp_path).submit(message()).state == "accepted"
    (file,) = tmp_path.iterdir()
    first = file.read_bytes()
    later = mailbox(tmp_path, NOW + timedelta(hours=1))
    assert later.submit(message(subject="changed")).state == "already_accepted"
    assert [file] == list(tmp_path.iterdir())
    assert file.read_bytes() == first


@pytest.mark.parametrize("title", ["See http://evil.test/d/abc now", "http://evil.test/d/abc"])
def test_a_link_in_a_title_is_not_the_personal_link(tmp_path: Path, title: str) -> None:
    written = message()
    mailbox(tmp_path).submit(replace(written, text=f"{title}\n{title} is ready\n\n{LINK}\n"))
    mailbox(tmp_path).submit(replace(message("notice"), text=f"{title}\n", headers={}))
    assert {one.link for one in mailbox(tmp_path).messages()} == {LINK, None}


def test_the_list_tells_file_recipient_subject_date_and_the_whole_link(tmp_path: Path) -> None:
    mailbox(tmp_path, NOW + timedelta(hours=1)).submit(message("k1", subject="Später"))
    mailbox(tmp_path, NOW).submit(message("k2", subject="first"))
    first, second = mailbox(tmp_path).messages()
    assert (first.file, first.to) == (tmp_path / "k2.eml", "ann@e.test")
    assert (first.subject, first.date, first.link) == ("first", NOW, LINK)
    assert (second.file.name, second.subject) == ("k1.eml", "Später")
    assert second.date == NOW + timedelta(hours=1)
    assert LINK not in repr(first)


def test_the_list_shows_an_address_beyond_ascii(tmp_path: Path) -> None:
    mailbox(tmp_path).submit(replace(message(), recipient_address="jörg@example.test"))
    assert [one.to for one in mailbox(tmp_path).messages()] == ["jörg@example.test"]


def test_a_mailbox_without_a_folder_is_empty(tmp_path: Path) -> None:
    assert mailbox(tmp_path / "none").messages() == []


def test_files_of_others_do_not_break_the_list(tmp_path: Path) -> None:
    mailbox(tmp_path).submit(message("k1"))
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".writing-abc.eml").write_text("x")
    (tmp_path / "other.eml").write_bytes(b"Subject: other\r\nDate: yesterday\r\n\r\nhi\xff\r\n")
    (tmp_path / "empty.eml").write_bytes(b"")
    (tmp_path / "html.eml").write_bytes(b"Content-Type: text/html\r\n\r\n<p>x</p>\r\n")
    listed = {one.file.name: one for one in mailbox(tmp_path).messages()}
    assert sorted(listed) == ["empty.eml", "html.eml", "k1.eml", "other.eml"]
    assert (listed["other.eml"].subject, listed["other.eml"].date) == ("other", None)
    assert (listed["empty.eml"].to, listed["empty.eml"].link) == ("", None)


def test_a_folder_that_is_a_file_is_unavailable_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "mailbox"
    folder.write_text("in the way")
    with pytest.raises(CommunicationsUnavailable, match=rf"{folder} .*EEXIST.*check") as caught:
        mailbox(folder).submit(message())
    assert caught.value.code == "communications_unavailable"
    assert "ann@e.test" not in caught.value.message


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_full_disk_is_unavailable_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(CommunicationsUnavailable, match="ENOSPC"):
            mailbox(tmp_path).submit(message())
    assert list(tmp_path.iterdir()) == []
    assert mailbox(tmp_path).submit(message()).state == "accepted"


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from queries_orchestration_tests.communications.test_mailbox import mailbox, message

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

os.{call} = killed
mailbox(Path(sys.argv[1])).submit(message())
"""


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_kill_in_the_middle_of_a_write_leaves_no_visible_message(
    tmp_path: Path, call: str
) -> None:
    program = KILLED_WHILE_WRITING.format(call=call)
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        check=False,
        timeout=30,
    )
    assert ended.returncode == -signal.SIGKILL
    # It did die between the first byte and the name.
    assert [file.name[:9] for file in tmp_path.iterdir()] == [".writing-"]
    assert mailbox(tmp_path).messages() == []
    mailbox(tmp_path).forget(["s1@20260504T050000Z", "s1@20260504T050000Z.p1.x"])
    assert len(list(tmp_path.iterdir())) == 1
    assert mailbox(tmp_path).submit(message()).state == "accepted"
    (listed,) = mailbox(tmp_path).messages()
    assert listed.link == LINK
    # What was begun of it goes with it, since it has the address, too.
    mailbox(tmp_path).forget([message().communication_key])
    assert list(tmp_path.iterdir()) == []


def submit_many(folder: Path, worker: int) -> list[str]:
    box = mailbox(folder)
    return [box.submit(message(f"k{n}", subject=f"by {worker}")).state for n in range(40)]


def test_of_two_processes_one_writes_each_message(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        one, other = pool.map(submit_many, [tmp_path] * 2, range(2))
    # For every key exactly one of the two was first.
    assert {tuple(sorted(states)) for states in zip(one, other, strict=True)} == {
        ("accepted", "already_accepted")
    }
    listed = mailbox(tmp_path).messages()
    assert len(listed) == len(list(tmp_path.iterdir())) == 40
    states = {"by 0": one, "by 1": other}
    for entry in listed:
        number = int(entry.file.stem[1:])
        assert states[entry.subject][number] == "accepted"
        assert entry.link == LINK


def test_a_url_opens_the_mailbox_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mail box #1?"
    communications = open_communications(
        f"mailbox://{quote(str(folder))}", from_address="r@e.test", clock=lambda: NOW
    )
    communications.submit(message())
    assert [one.to for one in mailbox(folder).messages()] == ["ann@e.test"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mailbox:",
        "mailbox://",
        "mailbox:///",
        "mailbox:relative",
        "mailbox://host/folder",
        "mailbox:///a?b=c",
        "mailbox:///a#b",
        "mailbox:///a%00b",
        "/var/mailbox",
        "carrier-pigeon://user:secret@host",
        "mailbox://[/x",
    ],
)
def test_a_url_of_no_backend_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidSettings, match="QUERIES_COMMUNICATIONS_URL") as caught:
        open_communications(url, from_address="r@e.test", clock=lambda: NOW)
    assert "secret" not in caught.value.message


def test_a_from_address_that_is_none_is_refused_by_its_setting() -> None:
    with pytest.raises(InvalidSettings, match="QUERIES_FROM_ADDRESS: not one e-mail address"):
        open_communications("mailbox:///x", from_address="Reports", clock=lambda: NOW)
