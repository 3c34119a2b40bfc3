"""Dagster's UI, used as a person does: by what is written on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from playwright.sync_api import Page, expect

PATIENCE = 60_000
"""Milliseconds: pages of a busy machine come slowly."""
NUMBERS = ("rows", "bytes", "seconds")
STATUSES = ("Success", "Failure", "Canceled")


@dataclass(frozen=True, kw_only=True)
class ToldRun:
    """What the page of a run shows: its status, the entries of its events, the links in them."""

    status: str
    entries: dict[str, str]
    links: set[str]


class DagsterPages:
    """A person before the UI of a web server."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._url = url
        page.set_viewport_size({"width": 1600, "height": 4_000})  # no list is cut
        page.set_default_timeout(PATIENCE)

    def open_launchpad(self, job: str) -> dict[str, str]:
        """Open a job's Launchpad; returns the config that it is filled with, by field."""
        self._page.goto(f"{self._url}/locations/queries_orchestration/jobs/{job}")
        self._page.get_by_role("tab", name="Launchpad").click()
        expect(self._page.get_by_text("No errors")).to_be_visible(timeout=PATIENCE)
        lines = self._page.locator(".CodeMirror-line").all_inner_texts()
        fields = (re.fullmatch(r"\s+(\w+): (.+)", line.replace("\xa0", " ")) for line in lines)
        return {field[1]: field[2].strip() for field in fields if field}

    def fill_in(self, field: str, value: str) -> None:
        """Write a text between the quotes of a field's default."""
        self._page.locator(".CodeMirror-line", has_text=f"{field}: ''").click()
        self._page.keyboard.press("End")
        self._page.keyboard.press("ArrowLeft")
        self._page.keyboard.type(value)
        self._page.keyboard.press("Escape")

    def launch(self) -> str:
        """Press *Launch Run*; returns the id of the run that its page is of."""
        self._page.get_by_role("button", name="Launch Run").click()
        self._page.wait_for_url("**/runs/*")
        return self._page.url.split("/runs/")[1].split("?")[0]

    def read_run(self, run_id: str) -> ToldRun:
        """Read the page of a run that has ended; of entries with one name the last counts."""
        self._page.goto(f"{self._url}/runs/{run_id}")
        page = self._page.locator("body")
        expect(page).to_contain_text("RUN_SUCCESS", timeout=PATIENCE)
        lines = page.inner_text().splitlines()
        links = self._page.locator("a").evaluate_all("all => all.map(one => one.href)")
        return ToldRun(
            status=next(line for line in lines if line in STATUSES),
            entries=dict(pairwise(lines)),
            links=set(links),
        )

    def backfill(self, job: str, first: str, last: str) -> str:
        """Launch a range of a job's partitions by its dialog; returns the id of the backfill."""
        self._page.goto(f"{self._url}/locations/queries_orchestration/jobs/{job}/partitions")
        self._page.get_by_role("button", name="Launch backfill").click()
        chosen = self._page.get_by_placeholder(re.compile("^ex: "))
        chosen.fill(f"[{first}...{last}]")
        chosen.press("Enter")
        self._page.get_by_role("dialog").get_by_role(
            "button", name=re.compile(r"Submit \d+ runs?")
        ).click()
        link = self._page.locator("a[href*='/runs/b/']").first
        return (link.get_attribute("href") or "").split("/runs/b/")[1]

    def read_backfill(self, backfill_id: str) -> list[str]:
        """Read the page of a backfill that has ended: how many runs it targeted, and how they are.

        These are: targeted, in progress, succeeded, failed.
        """
        self._page.goto(f"{self._url}/runs/b/{backfill_id}")
        page = self._page.locator("body")
        expect(page).to_contain_text("Succeeded\n", timeout=PATIENCE)
        expect(page).to_contain_text("100% completed", timeout=PATIENCE)
        counts = re.search(r"(\d+)\t(\d+)\t(\d+)\t(\d+)", page.inner_text())
        return list(counts.groups()) if counts else []

    def read_plots(self, asset: str) -> set[str]:
        """Open the plots of an asset; returns the names of what is plotted."""
        self._page.goto(f"{self._url}/assets/{asset}?view=overview")
        self._page.get_by_role("button", name="Plots").click()
        expect(self._page.locator("canvas").first).to_be_visible(timeout=PATIENCE)
        told = self._page.locator("body").inner_text().splitlines()
        return {name for name in NUMBERS if name in told}
