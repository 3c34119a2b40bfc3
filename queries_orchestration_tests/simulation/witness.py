"""The witnesses of the month: the store's rows, the mailbox and the storage, held to the model."""

from __future__ import annotations

from collections import Counter
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from queries_orchestration.deliveries.recipients import DUPLICATE
from queries_orchestration.model.links import verify
from queries_orchestration.store import counters, occurrences
from queries_orchestration.store.tables import deliveries, notices
from queries_orchestration_tests.simulation.model import Model, Modelled, hold
from queries_orchestration_tests.simulation.organisation import address_of
from queries_orchestration_tests.simulation.work import Work
from queries_orchestration_tests.simulation.world import World


def check_history(world: World, model: Model) -> None:
    """Every slot and click is there once, with its outcome, its code and its deliveries."""
    for one in model.schedules.values():
        workspace_id = world.workspace_ids[one.spec.workspace]
        row = world.schedule(one.spec.workspace, one.spec.name)
        with world.backends.database.across.read() as connection:
            found = occurrences.history(connection, workspace_id, row.id, limit=10_000)
        rows = (
            (f"{each.slot:%Y%m%dT%H%M}" if each.slot else "click", each.outcome, each.code)
            for each in found
        )
        hold(Counter(rows), Counter(map(_told, one.works)), one)
        got = (row.state, row.pause_code, row.failure_streak, row.next_slot)
        hold(got, (one.state, one.pause_code, one.streak, one.next_slot), one)


def check_deliveries(world: World, model: Model) -> None:
    """Every recipient has the state that the model says, and no other row exists."""
    expected: Counter[tuple[str | None, str, str, int]] = Counter()
    for _, work in _works(model):
        expected.update(
            (work.key, person, state, work.unanswered[person])
            for person, state in work.rows.items()
        )
    with world.backends.database.across.read() as connection:
        names = {row.id: row.name for row in connection.execute(sa.text("SELECT * FROM people"))}
        rows = connection.execute(
            sa.select(
                deliveries.c.occurrence_key,
                deliveries.c.recipient_id,
                deliveries.c.state,
                deliveries.c.unanswered,
            )
        ).all()
    found = Counter(
        (row.occurrence_key, names[row.recipient_id], row.state, row.unanswered) for row in rows
    )
    assert found == expected, (found - expected, expected - found)


def check_mailbox(world: World, model: Model) -> int:
    """Who should have a message has one and nobody has two, whatever our own rows say.

    Returns:
        How many messages there are.
    """
    expected: Counter[tuple[str, str]] = Counter()
    for one, work in _works(model):
        assert work.key is not None or not work.messages
        for person in work.messages:
            expected[str(work.key), address_of(one.spec.workspace, person)] += 1
    found = Counter(
        _of_message(world, path) for path in _mailbox(world).glob("*.eml") if not _is_notice(path)
    )
    assert found == expected, (found - expected, expected - found)
    return found.total()


def check_notices(world: World, model: Model) -> int:
    """Who must be told of a failure has one notice of it in the mailbox, and nobody has two.

    The owner of the first failure of a streak; of a pause, the active administrators as well.
    Who was inactive when it was to be sent has none.

    Returns:
        How many notices were sent.
    """
    with world.backends.database.across.read() as connection:
        names = {row.id: row.name for row in connection.execute(sa.text("SELECT * FROM people"))}
        rows = connection.execute(sa.select(notices)).all()
    of_key = {row.communication_key: row for row in rows}
    states = {(row.occurrence_key, row.kind, names[row.person_id]): row.state for row in rows}
    codes = {(row.occurrence_key, row.kind, names[row.person_id]): row.code for row in rows}
    mailed: Counter[tuple[str, str, str]] = Counter()
    for path in filter(_is_notice, _mailbox(world).glob("*.eml")):
        row = of_key[path.stem]
        mailed[row.occurrence_key, row.kind, _address(_read(path))] += 1
    sent: Counter[tuple[str, str, str]] = Counter()
    for one in model.schedules.values():
        for notice in one.notices:
            assert notice.work.key is not None, one.told()
            assert notice.is_done, one.told()
            what = notice.work.key, notice.kind, notice.person
            hold(codes.pop(what, "no notice"), notice.code, one)
            state = states[what]
            assert state in notice.ends, f"{state} instead of {notice.ends}\n{one.told()}"
            if state == "sent":
                sent[*what[:2], address_of(one.spec.workspace, notice.person)] += 1
    assert codes == {}
    assert mailed == sent, (mailed - sent, sent - mailed)
    return mailed.total()


def check_storage(world: World) -> None:
    """A file is there for each export that is ready, and nothing else: no upload is open."""
    with world.backends.database.across.read() as connection:
        ready = connection.scalars(
            sa.text("SELECT storage_key FROM exports WHERE state = 'ready'")
        ).all()
        open_ones = connection.scalar(sa.text("SELECT count(*) FROM claims WHERE state <> 'done'"))
    folder = world.folder / "home" / "files"
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    visible = [str(path) for path in files if ".uploads" not in path.parts]
    assert sorted(visible) == sorted(ready)
    assert open_ones == 0


def check_counters(world: World) -> None:
    """What was counted as it happened is what the rows say: each settled once, by whomever."""
    with world.backends.database.across.read() as connection:
        counted: Counter[tuple[str, str, str]] = Counter(
            {(one.name, one.label, one.code): one.value for one in counters.read(connection)}
        )
        rows: Counter[tuple[str, str, str]] = Counter()
        for name, statement in _COUNTED.items():
            for label, code, number in connection.execute(sa.text(statement)):
                rows[name, label, code or ""] += number
    replaced = ("deliveries_settled", "skipped", DUPLICATE)
    # Who was skipped as one, and gets it after all, was counted before.
    assert counted[replaced] >= rows[replaced]
    counted[replaced] = rows[replaced]
    left_out = {name for name, _, _ in counted} - set(_COUNTED)
    found = Counter({key: number for key, number in counted.items() if key[0] not in left_out})
    assert rows
    assert +found == +rows, (found - rows, rows - found)
    assert left_out <= {"receives_failed", "offers_released", "schedule_auto_paused"}


_COUNTED: Final = {
    "occurrences_settled": "SELECT outcome, code, count(*) FROM occurrences GROUP BY outcome, code",
    "deliveries_settled": "SELECT state, code, count(*) FROM deliveries GROUP BY state, code",
    "exports_settled": "SELECT CASE state WHEN 'expired' THEN 'ready' ELSE state END, code,"
    " count(*) FROM exports GROUP BY 1, code",
    "receives_started": "SELECT lane, '', count(*) FROM receives"
    " JOIN claims ON claims.key = receives.key GROUP BY lane",
    "dead_letters": "SELECT lane, '', count(*) FROM claims"
    " LEFT JOIN occurrences ON occurrences.key = claims.key"
    " LEFT JOIN exports ON exports.id = claims.key"
    " WHERE receive_number = 3 AND COALESCE(outcome, exports.state) = 'failed' GROUP BY lane",
    "schedule_run_failed": "SELECT '', code, count(*) FROM occurrences WHERE outcome = 'failed'"
    " GROUP BY code",
}


def _works(model: Model) -> list[tuple[Modelled, Work]]:
    return [(one, work) for one in model.schedules.values() for work in one.works]


def _told(work: Work) -> tuple[str, str | None, str | None]:
    return work.label if work.slot else "click", work.outcome, work.code


def _mailbox(world: World) -> Path:
    return world.folder / "home" / "mailbox"


def _of_message(world: World, path: Path) -> tuple[str, str]:
    """Return the occurrence, told by the link that the message holds, and the address it is to."""
    message = _read(path)
    body = message.get_body(("plain",))
    assert body is not None
    words = body.get_content().split()
    (url,) = (word for word in words if word.startswith("https://queries.example.org/d/"))
    sent_at = message["Date"].datetime
    link = verify(world.backends.link_keys, url.rpartition("/")[2], now=sent_at)
    return link.occurrence_key, _address(message)


def _is_notice(path: Path) -> bool:
    return path.name.startswith("notice.")


def _read(path: Path) -> EmailMessage:
    message = message_from_bytes(path.read_bytes(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def _address(message: EmailMessage) -> str:
    (address,) = message["To"].addresses
    return str(address.addr_spec)
