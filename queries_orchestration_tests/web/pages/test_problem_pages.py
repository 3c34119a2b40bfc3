"""Errors on pages are pages, with the code and the words that a program would get."""

from __future__ import annotations

import pytest

from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.web.pages import exports
from queries_orchestration_tests.web.pages.visit import Visit

STRICT = "default-src 'none'; script-src 'self'; style-src 'self'"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/no-such-page", 404, "not_found"),
        ("GET", "/schedules/no-such", 404, "not_found"),
        ("DELETE", "/exports", 405, "method_not_allowed"),
        ("GET", "/exports?cursor=x", 422, "invalid_cursor"),
        ("GET", "/static/0/pages.css", 404, "not_found"),
    ],
)
def test_a_problem_of_a_page_is_a_page(
    ada: Visit, method: str, path: str, status: int, code: str
) -> None:
    answer = ada.site.client.request(method, path, headers={"Cookie": ada.cookie})
    assert (answer.status_code, code in answer.text) == (status, True)
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"].startswith(STRICT)


def test_for_programs_it_stays_a_problem(ada: Visit) -> None:
    for path in ("/api/v1/no-such", "/api/no-such", "/webhooks/no-such"):
        answer = ada.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (
            404,
            "application/problem+json",
        )


def test_too_large_a_form(ada: Visit) -> None:
    answer = ada.site.client.post("/sign-in", content=b"x" * (8 * 1024 * 1024 + 1))
    assert (answer.status_code, "too_large" in answer.text) == (413, True)
    assert answer.headers["content-type"].startswith("text/html")


def test_too_many_fields(ada: Visit) -> None:
    answer = ada.site.client.post(
        "/sign-in",
        content="&".join(f"f{n}=1" for n in range(1_100)),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Sec-Fetch-Site": "same-origin",
        },
    )
    assert (answer.status_code, answer.headers["content-type"]) == (
        400,
        "text/html; charset=utf-8",
    )


def test_a_store_that_is_down_says_when_to_come_again(
    ada: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise StoreUnavailable("The application database cannot be reached.")

    monkeypatch.setattr(exports, "own_exports", down)
    answer = ada.get("/exports")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "store_unavailable" in answer.text


@pytest.mark.parametrize("path", ["/exports", "/api/v1/exports"])
def test_what_nobody_foresaw_is_told_without_its_words(
    ada: Visit,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret value")

    monkeypatch.setattr(exports, "own_exports", broken)
    monkeypatch.setattr("queries_orchestration.web.routes.exports.own_exports", broken)
    answer = ada.get(path, **ada.site.as_("ada"))
    assert (answer.status_code, "unforeseen" in answer.text) == (500, True)
    assert answer.headers["content-security-policy"].startswith(STRICT)
    assert ("RuntimeError" in caplog.text, "secret" in caplog.text + answer.text) == (True, False)


def test_no_page_has_style_or_script_of_its_own(ada: Visit) -> None:
    for path in ("/exports", "/export", "/schedules", "/schedules/weekly", "/sign-in", "/nope"):
        html = ada.get(path).text
        assert " style=" not in html
        assert "<style" not in html
        assert html.count("<script") == html.count('<script src="/static/')


def test_an_asset_is_kept_and_its_address_changes_with_it(ada: Visit) -> None:
    html = ada.get("/exports").text
    addresses = {part.partition('"')[0] for part in html.split('"/static/')[1:]}
    assert len(addresses) == 3
    for address in addresses:
        answer = ada.site.client.get(f"/static/{address}")
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
