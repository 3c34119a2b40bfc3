"""Forms that are not ours change nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.routing import APIRoute

from queries_orchestration.web.pages.pages import ROUTERS
from queries_orchestration_tests.web.pages.visit import SAME_ORIGIN, Visit
from queries_orchestration_tests.web.site import PUBLIC_URL, Site

PAGE, PAUSE = "/schedules/weekly", "/schedules/weekly/pause"
ACTIONS = (
    "/sign-out",
    "/export/all-orders",
    "/exports/x/cancel",
    PAUSE,
    "/schedules/weekly/run",
    "/schedules/weekly/test",
    "/schedules/weekly/resume",
    "/schedules/weekly/repin",
    "/schedules/weekly/occurrences/x/resend",
)


def test_these_are_all_that_a_page_can_send() -> None:
    posts = {
        route.path
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "POST" in (route.methods or ())
    }
    filled = {
        path.format(source="all-orders", export_id="x", name="weekly", key="x") for path in posts
    }
    assert filled - {"/sign-in"} == set(ACTIONS)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_form_without_its_token_is_refused(ada: Visit, action: str) -> None:
    answer = ada.site.client.post(action, headers={"Cookie": ada.cookie} | SAME_ORIGIN)
    assert (answer.status_code, "form_refused" in answer.text) == (422, True)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_strangers_form_leads_to_the_sign_in(demo_site: Site, action: str) -> None:
    answer = demo_site.client.post(action, headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?back=%2Fexports")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"{PUBLIC_URL}.evil.example"},
        {"Origin": PUBLIC_URL, "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_what_another_site_sends_is_refused(ada: Visit, headers: dict[str, str]) -> None:
    hidden = ada.hidden(PAGE, PAUSE)
    answer = ada.site.client.post(PAUSE, data=hidden, headers={"Cookie": ada.cookie} | headers)
    assert (answer.status_code, "form_refused" in answer.text) == (422, True)
    assert ada.site.house.schedule().state == "active"
    signed_in = ada.site.client.post(
        "/sign-in", data={"token": ada.site.token("ada")}, headers=headers
    )
    assert signed_in.status_code == 422


@pytest.mark.parametrize("headers", [{"Origin": PUBLIC_URL}, {"Sec-Fetch-Site": "same-origin"}])
def test_one_of_both_headers_is_enough(ada: Visit, headers: dict[str, str]) -> None:
    hidden = ada.hidden(PAGE, PAUSE)
    answer = ada.site.client.post(PAUSE, data=hidden, headers={"Cookie": ada.cookie} | headers)
    assert (answer.status_code, ada.site.house.schedule().state) == (303, "paused")


def test_a_form_is_of_one_person_and_of_one_sign_in(ada: Visit, bob: Visit) -> None:
    for other in (bob, _signed_in_again(ada)):
        hidden = {"form": other.hidden("/exports", "/sign-out")["form"]}
        answer = ada.site.client.post(
            PAUSE, data=hidden, headers={"Cookie": ada.cookie} | SAME_ORIGIN
        )
        assert answer.status_code == 422
    assert ada.site.house.schedule().state == "active"


def test_a_form_grows_old(ada: Visit) -> None:
    hidden = ada.hidden(PAGE, PAUSE)
    ada.site.house.clock.at += timedelta(hours=12)
    ada.sign_in("ada")
    again = ada.hidden(PAGE, PAUSE) | {"form": hidden["form"]}
    answer = ada.site.client.post(PAUSE, data=again, headers={"Cookie": ada.cookie} | SAME_ORIGIN)
    assert (answer.status_code, ada.site.house.schedule().state) == (422, "active")


def test_behind_a_proxy_a_form_outlives_the_token_but_not_the_person(demo_site: Site) -> None:
    def as_(person: str) -> dict[str, str]:
        return demo_site.as_(person) | SAME_ORIGIN

    page = demo_site.client.get(PAGE, headers=as_("ada")).text
    form = page.partition('name="form" value="')[2].partition('"')[0]
    demo_site.house.clock.at += timedelta(hours=1)
    foreign = demo_site.client.post(PAUSE, data={"form": form}, headers=as_("bob"))
    assert foreign.status_code == 422
    own = demo_site.client.post(PAUSE, data={"form": form}, headers=as_("ada"))
    assert (own.status_code, demo_site.house.schedule().state) == (303, "paused")


def _signed_in_again(visit: Visit) -> Visit:
    visit.site.house.clock.at += timedelta(seconds=5)
    return Visit(visit.site).sign_in("ada")
