"""A house whose people are erased, and what is looked at afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.model.audit import OPERATOR, By
from queries_orchestration.model.errors import Refused
from queries_orchestration.retention.erase import erase
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.deliveries.wider_house import JANE, STAFF, catalog, text_of
from queries_orchestration_tests.exports.admitted import everything
from queries_orchestration_tests.house import MONDAY, House

ALL = f"[{{group: sales}}, bob, cyd, {JANE}]"
OF_BOB = ("bob", "Bob Buyer", "Bob", "bob@example.org")
ROOT = "  root: {title: Root Admin, address: root@example.org, roles: [administrator, author]}\n"
OF_JANE = ("Jane", "jane", "partner.example")
DRAWN = re.compile(r"https://[^\s\"<]+|\b[a-z2-7]{26}")


def furnish(house: House) -> House:
    """Return the house with a group and an outside address, all of whom got a file."""
    house.clock.at = MONDAY - timedelta(days=1)
    house.apply(catalog(ALL, people=STAFF + ROOT))
    assert house.deliver(MONDAY) == ["delivered"]
    return house


def gone(house: House, name: str, *, by: By = OPERATOR) -> str:
    """Erase a person, and return their id."""
    person_id = house.person(name)
    erase(house.backends, house.workspace_id, person_id, by=by, do=True)
    return person_id


def texts(house: House) -> Iterator[str]:
    """Every value of every row, and every message; but ids and tokens, whose letters are drawn."""
    for text in _whole_texts(house):
        yield DRAWN.sub("", text)


def _whole_texts(house: House) -> Iterator[str]:
    with house.backends.database.across.read() as connection:
        for table in metadata.sorted_tables:
            if table.name in ("workspaces", "source_versions"):
                continue  # a domain that is allowed, and what nobody is named in
            for row in connection.execute(sa.select(table)):
                yield from (str(value) for value in row)
    for message in house.messages() + house.notices():
        yield from (str(message["To"]), str(message["Subject"]))
        yield from (text_of(message, kind) for kind in ("plain", "html"))


def refused(house: House, name: str, *, by: By = OPERATOR) -> Refused:
    before = everything(house)
    with pytest.raises(Refused) as error:
        erase(house.backends, house.workspace_id, house.person(name), by=by, do=True)
    assert everything(house) == before
    return error.value
