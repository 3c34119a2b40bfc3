"""``queries init``, and what every other verb says before it."""

from __future__ import annotations

import stat
from datetime import datetime
from pathlib import Path

import psycopg2
import pytest
import sqlalchemy as sa
import yaml
from sqlalchemy import make_url

from queries_orchestration.receives.backends import read_link_keys
from queries_orchestration.settings import load_settings
from queries_orchestration.store import dispatchers
from queries_orchestration.store.database import Database
from queries_orchestration.store.migrate import is_current
from queries_orchestration_tests.cli.conftest import Call, Place, answer_of
from queries_orchestration_tests.postgres import PostgresServer, as_owner

OTHER_VERBS = [["catalog", "apply", "catalog.yaml"], ["tick"], ["history"], ["mailbox"]]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_makes_the_home_for_us_alone_with_keys_that_sign(place: Place, call: Call) -> None:
    made = call(place.environment, "init", "--json").json()

    assert made == {
        "home": str(place.home),
        "dagster_home": str(place.home / "dagster"),
        "made_link_keys": True,
    }
    assert _mode(place.home) == 0o700
    keys = place.home / "link-keys"
    assert _mode(keys) == 0o600
    assert read_link_keys(load_settings(place.environment)).signing_key_id == "k1"
    assert is_current(f"sqlite:///{place.home}/queries.db")
    dagster = yaml.safe_load((place.home / "dagster" / "dagster.yaml").read_text())
    assert dagster["run_monitoring"]["enabled"] is True
    assert sorted(path.name for path in place.home.iterdir()) == [
        "dagster",
        "link-keys",
        "queries.db",
    ]


def test_silence_counts_from_when_it_is_first_run(place: Place, call: Call) -> None:
    database = Database(f"sqlite:///{place.home}/queries.db")

    def ended() -> dict[str, datetime | None]:
        with database.across.read() as connection:
            passes = [*dispatchers.heartbeats(connection), *dispatchers.upkeep(connection)]
        return {one.dispatcher: one.pass_ended_at for one in passes}

    call(place.environment, "init")
    first = ended()
    assert first.keys() == {"deliveries", "retention", "sweep_uploads"}
    assert "dispatcher_silent" not in call(place.environment, "check").out
    call(place.environment, "init")
    assert ended() == first


def test_a_second_time_it_changes_nothing(place: Place, call: Call) -> None:
    call(place.environment, "init")
    call(place.environment, "catalog", "apply", place.catalog)
    keys = (place.home / "link-keys").read_bytes()
    (place.home / "dagster" / "dagster.yaml").write_text("# mine\n")

    again = call(place.environment, "init")

    assert again.status == 0
    assert again.out == (
        f"Ready in {place.home}.\nFor `dagster dev`: DAGSTER_HOME={place.home / 'dagster'}\n"
    )
    assert (place.home / "link-keys").read_bytes() == keys
    assert (place.home / "dagster" / "dagster.yaml").read_text() == "# mine\n"
    assert len(call(place.environment, "history", "--json").json()["schedules"]) == 1


def test_several_at_once_agree_on_one_set_of_keys(place: Place) -> None:
    answers = [answer_of(process) for process in [place.start("init", "--json") for _ in range(3)]]

    assert [answer.status for answer in answers] == [0, 0, 0]
    assert sum(answer.json()["made_link_keys"] for answer in answers) == 1
    assert sorted(path.name for path in place.home.iterdir() if "link" in path.name) == [
        "link-keys"
    ]
    assert place.queries("history").status == 0


def test_it_tells_where_new_keys_are_and_never_what_they_are(place: Place, call: Call) -> None:
    said = call(place.environment, "init")

    assert f"{place.home}/link-keys (keep them secret)" in said.out
    secret = (place.home / "link-keys").read_text().strip().partition(":")[2]
    assert len(secret) >= 32
    assert secret not in said.out + said.err


def test_it_makes_no_keys_where_some_are_set(place: Place, call: Call) -> None:
    made = call(place.environment | {"QUERIES_LINK_KEYS": f"a:{'k' * 40}"}, "init", "--json")

    assert made.json()["made_link_keys"] is False
    assert not (place.home / "link-keys").exists()


def test_the_dagster_home_is_the_one_that_is_set(place: Place, call: Call) -> None:
    elsewhere = place.folder / "elsewhere"

    made = call(place.environment | {"DAGSTER_HOME": str(elsewhere)}, "init", "--json")

    assert made.json()["dagster_home"] == str(elsewhere)
    assert (elsewhere / "dagster.yaml").exists()
    assert not (place.home / "dagster").exists()


def test_a_home_that_cannot_be_made_is_refused(place: Place, call: Call) -> None:
    (place.folder / "file").touch()
    homes = {
        str(place.folder / "file"): "File exists",
        str(place.folder / "file" / "below"): "Not a directory",
        "/proc/queries": "",
    }
    for home, because in homes.items():
        for words in (["init"], *OTHER_VERBS):
            refused = call(place.environment | {"QUERIES_HOME": home}, *words)
            assert refused.status == 2, (home, words)
            code = "invalid_settings" if words == ["init"] else "not_initialised"
            assert refused.err.startswith(f"{code}: ")
            assert "QUERIES_HOME" in refused.err
            if words == ["init"]:
                assert because in refused.err


@pytest.mark.parametrize("words", OTHER_VERBS, ids=lambda words: words[0])
def test_before_it_every_other_verb_says_to_run_it_and_makes_nothing(
    words: list[str], place: Place, call: Call
) -> None:
    refused = call(place.environment, *words)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("not_initialised: ")
    assert refused.err.endswith("run `queries init`.\n")
    assert not place.home.exists()


@pytest.mark.parametrize("words", OTHER_VERBS, ids=lambda words: words[0])
def test_an_empty_database_is_not_initialised(
    words: list[str], place: Place, call: Call, database_url: str
) -> None:
    sa.create_engine(database_url).connect().close()
    place.environment["QUERIES_DATABASE_URL"] = database_url

    assert call(place.environment, *words, "--json").refusal()["code"] == "not_initialised"


@pytest.mark.parametrize("words", OTHER_VERBS, ids=lambda words: words[0])
def test_a_database_of_an_earlier_version_is_not_initialised(
    words: list[str], place: Place, call: Call, store_url: str
) -> None:
    _set_version(as_owner(store_url), None)
    place.environment["QUERIES_DATABASE_URL"] = as_owner(store_url)

    assert call(place.environment, *words, "--json").refusal()["code"] == "not_initialised"


def test_it_readies_an_empty_database_of_either_kind(
    place: Place, call: Call, database_url: str
) -> None:
    place.environment["QUERIES_DATABASE_URL"] = database_url

    assert call(place.environment, "init").status == 0
    assert call(place.environment, "init").status == 0
    assert call(place.environment, "tick", "--json").json()["admitted"] == 0


def test_it_refuses_a_database_of_a_later_version_and_leaves_it_alone(
    place: Place, call: Call, store_url: str
) -> None:
    _set_version(as_owner(store_url), "9999")
    place.environment["QUERIES_DATABASE_URL"] = as_owner(store_url)

    refused = call(place.environment, "init")

    assert refused.status == 2
    assert refused.err == (
        "later_database: The application database was made by a later version of `queries`:"
        " use that one.\n"
    )
    # What is there can be used: this version may be on its way out, or what one goes back to.
    assert call(place.environment, "history", "--json").status == 0
    with sa.create_engine(as_owner(store_url)).connect() as connection:
        assert connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == "9999"


def test_a_file_that_is_no_database_is_a_failure_and_left_alone(place: Place, call: Call) -> None:
    place.home.mkdir()
    file = place.home / "queries.db"
    file.write_bytes(b"letters to nobody\n" * 300)
    for words in (["init"], *OTHER_VERBS):
        refused = call(place.environment, *words)
        assert refused.status == 1
        assert refused.err.startswith("store_unavailable: ")
        assert "(SQLITE_NOTADB)" in refused.err
    assert file.read_bytes() == b"letters to nobody\n" * 300


def test_a_user_who_may_make_no_tables_is_refused_without_the_drivers_words(
    place: Place, call: Call, postgres: PostgresServer
) -> None:
    url = postgres.create_database()
    with psycopg2.connect(_libpq(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE ROLE onlooker LOGIN PASSWORD 'tr0ub4dor'")
    connection.close()
    onlooker = make_url(url).set(username="onlooker", password="tr0ub4dor")
    place.environment["QUERIES_DATABASE_URL"] = onlooker.render_as_string(hide_password=False)

    refused = call(place.environment, "init")

    assert refused.status == 2
    assert refused.err == (
        "invalid_settings: The database of QUERIES_DATABASE_URL cannot be used (42501). Name an"
        " empty one, or one that `queries init` made, and a user who may make and change its"
        " tables.\n"
    )
    postgres.drop(url)


def _libpq(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _set_version(url: str, version: str | None) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM alembic_version"))
        if version is not None:
            connection.execute(
                sa.text("INSERT INTO alembic_version VALUES (:version)"), {"version": version}
            )
    engine.dispose()
