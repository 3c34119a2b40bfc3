"""Who a request speaks for."""

from __future__ import annotations

from datetime import timedelta

import jwt
import pytest

from queries_orchestration_tests.web.site import KEY, Site

LIST = "/api/v1/exports"


def test_without_a_token_nobody_is_served_and_told_how_to_sign_in(site: Site) -> None:
    answer = site.client.get(LIST)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["code"] == "not_signed_in"


@pytest.mark.parametrize(
    ("person", "workspace"),
    [("dan", "acme"), ("nobody", "acme"), ("ada", "elsewhere"), ("", "acme"), ("\0", "acme")],
)
def test_unknown_inactive_and_foreign_people_look_the_same(
    site: Site, person: str, workspace: str
) -> None:
    nobody = site.client.get(LIST, headers={"Authorization": "Bearer x"})
    answer = site.client.get(LIST, headers=site.as_(person, workspace=workspace))
    assert (answer.status_code, answer.text) == (401, nobody.text)


def test_who_is_switched_off_is_refused_with_the_token_that_they_have(site: Site) -> None:
    headers = site.as_("ada")
    assert site.client.get(LIST, headers=headers).status_code == 200
    site.house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "people: {ada: {title: Ada Owner, address: ada@example.org, active: false}}\n"
    )
    assert site.client.get(LIST, headers=headers).status_code == 401


def test_a_token_ends(site: Site) -> None:
    headers = site.as_("ada")
    assert site.client.get(LIST, headers=headers).status_code == 200
    site.house.clock.at += timedelta(hours=12, minutes=1)
    assert site.client.get(LIST, headers=headers).status_code == 401


@pytest.mark.parametrize(
    "change",
    [
        {"aud": "others"},
        {"aud": None},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"exp": 1e300},
        {"nbf": 1e12},
        {"sub": ["ada"]},
        {"sub": None},
        {"workspace": {"name": "acme"}},
    ],
)
def test_a_token_that_says_anything_else_is_refused(site: Site, change: dict[str, object]) -> None:
    claims = {
        "aud": "queries",
        "exp": int(site.house.clock.at.timestamp()) + 60,
        "sub": "ada",
        "workspace": "acme",
    }
    good = jwt.encode(claims, KEY, algorithm="HS256")
    assert site.client.get(LIST, headers={"Authorization": f"Bearer {good}"}).status_code == 200
    changed = {key: value for key, value in (claims | change).items() if value is not None}
    token = jwt.encode(changed, KEY, algorithm="HS256") if "sub" in changed else "x"
    answer = site.client.get(LIST, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


@pytest.mark.parametrize("algorithm", ["none", "HS384"])
def test_the_algorithm_is_ours_not_the_tokens(site: Site, algorithm: str) -> None:
    claims = {"aud": "queries", "exp": 9e9, "sub": "ada", "workspace": "acme"}
    token = jwt.encode(claims, "" if algorithm == "none" else KEY, algorithm=algorithm)
    assert site.client.get(LIST, headers={"Authorization": f"Bearer {token}"}).status_code == 401
