"""Who looks at a page, and who may not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queries_orchestration_tests.house import House, build_house
from queries_orchestration_tests.web.pages.visit import SAME_ORIGIN, Visit
from queries_orchestration_tests.web.site import Site, open_site

PAGES = ("/exports", "/export", "/export/all-orders", "/schedules", "/schedules/weekly", "/mailbox")


@pytest.mark.parametrize("path", PAGES)
def test_a_stranger_is_led_to_the_sign_in_and_back(demo_site: Site, path: str) -> None:
    answer = Visit(demo_site).get(path)
    assert answer.status_code == 303
    sign_in = demo_site.client.get(answer.headers["location"])
    assert (sign_in.status_code, f'name="back" value="{path}"' in sign_in.text) == (200, True)
    token = demo_site.token("ada")
    signed_in = demo_site.client.post(
        "/sign-in", data={"token": token, "back": path}, headers=SAME_ORIGIN
    )
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, path)


def test_the_cookie_is_kept_from_scripts_other_sites_and_plain_connections(
    demo_site: Site,
) -> None:
    answer = demo_site.client.post(
        "/sign-in", data={"token": demo_site.token("ada")}, headers=SAME_ORIGIN
    )
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name.startswith("__Host-session=")
    told = {one.partition("=")[0].lower() for one in attributes}
    assert {"httponly", "secure", "path", "samesite", "expires"} <= told
    assert "domain" not in told


def test_a_cookie_ends_with_its_token(demo_site: Site, ada: Visit) -> None:
    assert ada.get("/exports").status_code == 200
    demo_site.house.clock.at += timedelta(hours=12, minutes=2)
    assert ada.get("/exports").status_code == 303


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example",
        "//evil.example/x",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "http:evil",
        "//[",
        "/sign-in?back=/sign-in",
        "",
    ],
)
def test_one_goes_on_to_our_own_paths_only(demo_site: Site, ada: Visit, back: str) -> None:
    data = {"token": demo_site.token("ada"), "back": back}
    answer = demo_site.client.post("/sign-in", data=data, headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/exports")
    signed_in = demo_site.client.get(
        "/sign-in", params={"back": back}, headers={"Cookie": ada.cookie}
    )
    assert signed_in.headers["location"] == "/exports"


@pytest.mark.parametrize("person", ["dan", "nobody"])
def test_a_token_that_does_not_count_is_told_on_the_page(demo_site: Site, person: str) -> None:
    data = {"token": demo_site.token(person)}
    answer = demo_site.client.post("/sign-in", data=data, headers=SAME_ORIGIN)
    assert (answer.status_code, "not_signed_in" in answer.text) == (401, True)
    assert "set-cookie" not in answer.headers


def test_signed_out_one_is_a_stranger(ada: Visit) -> None:
    answer = ada.send("/exports", "/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert '__Host-session=""' in answer.headers["set-cookie"]
    assert "Max-Age=0" in answer.headers["set-cookie"]


def test_the_api_never_takes_the_cookie(ada: Visit) -> None:
    assert ada.get("/api/v1/exports").status_code == 401


def test_in_production_the_header_counts_and_no_cookie(house: House) -> None:
    with open_site(house) as site:
        cookie = {"Cookie": f"__Host-session={site.token('ada')}; session={site.token('ada')}"}
        assert site.client.get("/exports", headers=cookie).status_code == 303
        refused = site.client.post(
            "/sign-in", data={"token": site.token("ada")}, headers=SAME_ORIGIN
        )
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        answer = site.client.get("/exports", headers=site.as_("ada"))
        assert (answer.status_code, "Sign out" in answer.text) == (200, False)
        assert site.client.get("/mailbox", headers=site.as_("ada")).status_code == 404


def test_over_http_the_cookie_has_a_plain_name(
    tmp_path_factory: pytest.TempPathFactory, store_url: str, source_url: str
) -> None:
    house = build_house(
        tmp_path_factory.mktemp("http"),
        store_url,
        source_url,
        settings={"QUERIES_DEMO": "1", "QUERIES_PUBLIC_URL": "http://localhost:8080"},
    )
    with open_site(house) as site:
        data = {"token": site.token("ada")}
        answer = site.client.post("/sign-in", data=data, headers=SAME_ORIGIN)
        cookie = answer.headers["set-cookie"]
        assert (cookie.startswith("session="), "secure" in cookie.lower()) == (True, False)
