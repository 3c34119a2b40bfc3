"""``queries init`` puts the wall between workspaces up, ``queries check`` tells where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import make_url

from queries_orchestration_tests.cli.conftest import Answer, Call, Place
from queries_orchestration_tests.postgres import PostgresServer

PASSWORD = "t0ps3cret"
OWNER, WORKER = "installer", "worker"
ROLES = ("tried_service", "tried_across")


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """An empty database, and two users: one may make roles and tables there, one nothing."""
    url = postgres.create_database()
    postgres.run(
        f"CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD '{PASSWORD}'",
        f"CREATE ROLE {WORKER} LOGIN NOINHERIT PASSWORD '{PASSWORD}'",
        f"GRANT ALL ON SCHEMA public TO {OWNER}",
        url=url,
    )
    yield url
    postgres.drop(url)
    postgres.run(*(f"DROP ROLE IF EXISTS {role}" for role in (*ROLES, OWNER, WORKER)))


def of(url: str, user: str, *, roles: str = "") -> str:
    named = make_url(url).set(username=user, password=PASSWORD)
    return (named.update_query_dict({"roles": roles}) if roles else named).render_as_string(
        hide_password=False
    )


def codes(answer: Answer) -> list[str]:
    found: list[dict[str, Any]] = json.loads(answer.out)["findings"]
    return [one["code"] for one in found]


def test_it_is_put_up_and_all_works_under_it(place: Place, call: Call, empty: str) -> None:
    place.environment["QUERIES_DATABASE_URL"] = of(empty, WORKER, roles="tried")
    before = call(place.environment, "check", "--json")
    place.environment["QUERIES_MIGRATION_URL"] = of(empty, OWNER)

    for _ in range(2):
        assert call(place.environment, "init").status == 0
    del place.environment["QUERIES_MIGRATION_URL"]

    assert codes(before)[:3] == ["not_initialised", "wall_down", "wall_down"]
    assert call(place.environment, "catalog", "apply", place.catalog).status == 0
    assert call(place.environment, "tick", "--json").json()["admitted"] == 0
    assert call(place.environment, "history").status == 0
    assert codes(call(place.environment, "check", "--json")) == []


def test_a_restore_without_rights_is_told_and_mended(
    place: Place, call: Call, postgres: PostgresServer, empty: str
) -> None:
    place.environment["QUERIES_DATABASE_URL"] = of(empty, WORKER, roles="tried")
    place.environment["QUERIES_MIGRATION_URL"] = of(empty, OWNER)
    assert call(place.environment, "init").status == 0
    for role in ROLES:
        postgres.run(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}", url=empty)

    lost = call(place.environment, "check", "--json")
    assert call(place.environment, "init").status == 0

    assert set(codes(lost)) >= {"not_initialised", "wall_down"}
    assert "wall_down" not in codes(call(place.environment, "check", "--json"))


def test_one_user_who_owns_everything_has_it_and_is_told_what_it_is_worth(
    place: Place, call: Call, empty: str
) -> None:
    place.environment["QUERIES_DATABASE_URL"] = of(empty, OWNER, roles="tried")

    assert call(place.environment, "init").status == 0
    assert call(place.environment, "catalog", "apply", place.catalog).status == 0
    call(place.environment, "tick")

    told = call(place.environment, "check")
    assert told.status == 1
    assert told.out.startswith("wall_down: the user of QUERIES_DATABASE_URL owns the tables, and")
    assert PASSWORD not in told.out + told.err


def test_who_may_make_no_roles_is_refused_with_what_a_dba_runs(
    place: Place, call: Call, postgres: PostgresServer, empty: str
) -> None:
    postgres.run(f"ALTER ROLE {OWNER} NOCREATEROLE")
    place.environment["QUERIES_DATABASE_URL"] = of(empty, WORKER, roles="tried")
    place.environment["QUERIES_MIGRATION_URL"] = of(empty, OWNER)

    refused = call(place.environment, "init", "--json").refusal()

    assert refused["code"] == "roles_missing"
    assert "CREATE ROLE tried_service NOLOGIN" in refused["message"]
    assert f'GRANT tried_across TO "{WORKER}"' in refused["message"]


def test_an_address_without_roles_works_and_is_mentioned(
    place: Place, call: Call, empty: str
) -> None:
    place.environment["QUERIES_DATABASE_URL"] = of(empty, OWNER)

    assert call(place.environment, "init").status == 0
    call(place.environment, "tick")

    assert call(place.environment, "check").out == (
        "All is well.\nNo wall between workspaces: QUERIES_DATABASE_URL names no roles.\n"
    )
