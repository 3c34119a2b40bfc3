"""What a person does, in a real browser before a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE
from queries_orchestration_tests.web.browser.conftest import Served

PHONE = {"viewport": {"width": 320, "height": 640}}
NO_SCRIPT = {"java_script_enabled": False}


def test_an_export_is_started_watched_downloaded_and_opened(
    ada: Page, served: Served, tmp_path: Path
) -> None:
    ada.goto("/exports")
    ada.get_by_role("link", name="Start an export").first.click()
    ada.get_by_role("link", name="All orders").click()
    ada.get_by_label("CSV").check()
    ada.get_by_role("button", name="Start").click()
    expect(ada.get_by_role("progressbar")).to_be_visible()
    served.house.work(EXPORT_LANE)
    # Nobody loads the page again: it asks itself.
    expect(ada.get_by_role("link", name="Download")).to_be_visible()
    expect(ada.locator("#told")).to_have_text("All orders is ready")
    with ada.expect_download() as started:
        ada.get_by_role("link", name="Download").click()
    file = tmp_path / started.value.suggested_filename
    started.value.save_as(file)
    assert file.suffix == ".csv"
    assert file.read_text(encoding="utf-8-sig").splitlines()[0] == "Order,Region,amount"
    assert len(file.read_text().splitlines()) == 2_501


def test_a_schedule_is_run_its_message_opened_and_its_link_ends_with_the_recipient(
    ada: Page, served: Served
) -> None:
    ada.goto("/schedules")
    ada.get_by_role("link", name="Weekly orders").click()
    ada.get_by_role("button", name="Run now").click()
    expect(ada.get_by_role("progressbar")).to_be_visible()
    assert served.house.work(DELIVERY_LANE) == ["delivered"]
    expect(ada.get_by_role("cell", name="Bob Buyer")).to_be_visible()
    ada.get_by_role("link", name="Mailbox").click()
    row = ada.get_by_role("row").filter(has_text="bob@example.org")
    row.get_by_role("link").click()
    letter = ada.url
    link = ada.frame_locator("iframe").get_by_role("link", name="Download file")
    with ada.expect_download() as started:
        link.click()
    assert started.value.suggested_filename.startswith("Weekly orders")
    served.house.apply(
        "workspace: {name: acme}\nschedules:\n  weekly:\n    title: Weekly orders\n"
        "    query: all-orders\n    owner: ada\n    cron: 0 8 * * 1\n"
        "    time_zone: Europe/Berlin\n    format: csv\n    recipients: [dan, cyd]\n"
    )
    ada.goto(letter)
    link.click()
    expect(ada.get_by_role("heading", name="This link does not work")).to_be_visible()


def test_a_stranger_signs_in_is_led_back_and_signs_out(stranger: Page, served: Served) -> None:
    stranger.goto("/schedules/weekly")
    stranger.get_by_label("Token").fill("not a token")
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.get_by_role("alert")).to_contain_text("not_signed_in")
    stranger.get_by_label("Token").fill(served.token("ada"))
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger).to_have_url(f"{served.address}/schedules/weekly")
    (cookie,) = stranger.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("session", True, "Lax")
    stranger.get_by_role("button", name="Sign out").click()
    expect(stranger.get_by_role("heading", name="Sign in")).to_be_visible()
    assert stranger.context.cookies() == []
    stranger.goto("/schedules/weekly")
    expect(stranger.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_printed_address_brings_its_token_which_leaves_the_address(
    stranger: Page, served: Served
) -> None:
    stranger.goto(f"/sign-in#token={served.token('ada')}")
    expect(stranger.get_by_role("button", name="Sign in")).to_be_focused()
    assert stranger.url == f"{served.address}/sign-in"
    stranger.keyboard.press("Enter")
    expect(stranger.get_by_role("heading", name="My exports")).to_be_visible()


def test_with_the_keyboard_alone(ada: Page) -> None:
    ada.goto("/export/all-orders")
    ada.keyboard.press("Tab")
    expect(ada.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    ada.keyboard.press("Enter")
    _tab_to(ada, "format")
    ada.keyboard.press("ArrowRight")
    expect(ada.get_by_label("Excel workbook")).to_be_checked()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert ada.evaluate(outline) == "solid"
    _tab_to(ada, "time_zone")
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("button", name="Cancel")).to_be_visible()
    for _ in range(30):
        ada.keyboard.press("Tab")
        if ada.evaluate("document.activeElement.dataset.key") == "cancel":
            break
    # The part that is under way is drawn anew meanwhile; the focus stays where it is.
    ada.wait_for_timeout(1_200)
    assert ada.evaluate("document.activeElement.dataset.key") == "cancel"
    ada.keyboard.press("Enter")
    expect(ada.locator("#live")).to_contain_text("Cancelled")


@pytest.mark.parametrize("stranger", [NO_SCRIPT], indirect=True)
def test_without_script(ada: Page, served: Served) -> None:
    ada.goto("/export/all-orders")
    ada.get_by_role("button", name="Start").click()
    served.house.work(EXPORT_LANE)
    ada.get_by_role("link", name="Look again").click()
    with ada.expect_download():
        ada.get_by_role("link", name="Download").click()
    ada.goto("/schedules/weekly")
    ada.get_by_text("Pause …").click()
    ada.get_by_role("button", name="Pause", exact=True).click()
    ada.get_by_role("button", name="Resume").click()
    expect(ada.get_by_text("It goes on with its next slot")).to_be_visible()


@pytest.mark.parametrize("stranger", [PHONE], indirect=True)
def test_no_page_scrolls_sideways_on_a_small_phone(ada: Page, served: Served) -> None:
    mail = sorted((served.house.folder / "home" / "mailbox").glob("*.eml"))
    paths = ["/exports", "/export", "/export/all-orders", "/schedules", "/schedules/weekly"]
    paths += ["/mailbox", *[f"/mailbox/{one.stem}" for one in mail[:1]], "/no-such-page"]
    for path in paths:
        ada.goto(path)
        width = ada.evaluate("document.documentElement.scrollWidth")
        assert width <= 320, f"{path} is {width} wide"


def _tab_to(page: Page, name: str) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == name:
            return
    pytest.fail(f"no way to {name}")
