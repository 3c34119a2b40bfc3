"""What pages show and do, without a browser."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest

from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE
from queries_orchestration.web.pages import exports as exports_page, schedules as schedules_page
from queries_orchestration_tests.house import MONDAY, WEEK
from queries_orchestration_tests.web.pages.visit import Visit

START = "/export/all-orders"
WEEKLY = "/schedules/weekly"

MORE = """\
workspace: {name: acme}
people:
  abe: {title: Abe Admin, address: abe@example.org, roles: [administrator]}
queries:
  by-region:
    title: Orders of regions
    dataset: orders
    fields: [{field: id}]
    filters:
      - {field: region, op: in, value: {parameter: regions}}
      - {field: amount, op: ge, value: {parameter: least}}
    parameters:
      - {name: regions, type: text, list: true, required: false}
      - {name: least, type: decimal, default: "10.5", label: At least}
      - {name: day, type: date, default: {start_of: month, shift: -1}}
      - {name: picked, type: text, list: true, allowed: [r1, r2], required: false}
"""


def start(visit: Visit, page: str = START, **fields: str | list[str]) -> str:
    given: dict[str, str | list[str]] = {"format": "csv", **fields}
    answer = visit.send(page, page, **given)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_an_export_is_started_followed_and_downloaded(ada: Visit) -> None:
    path = start(ada)
    assert "data-live" in ada.get(path).text
    assert "data-live" in ada.get("/exports").text
    ada.site.house.work(EXPORT_LANE)
    page = ada.get(path).text
    assert ("data-live" in page, "Ready" in page, "rows" in page) == (False, True, True)
    file = ada.get(f"{path}/file")
    assert (file.status_code, "/files/" in file.headers["location"]) == (302, True)


def test_the_same_form_sent_twice_is_one_export(ada: Visit) -> None:
    hidden = ada.hidden(START, START) | {"format": "csv"}
    headers = {"Cookie": ada.cookie, "Sec-Fetch-Site": "same-origin"}
    first, second = (
        ada.site.client.post(START, data=hidden, headers=headers).headers["location"]
        for _ in range(2)
    )
    assert first == second


def test_runtime_values_are_fields_and_reach_the_export(ada: Visit) -> None:
    ada.site.house.apply(MORE)
    page = "/export/by-region"
    html = ada.get(page).text
    assert "At least" in html
    assert 'placeholder="start_of:month,shift:-1"' in html
    fields: dict[str, str | list[str]] = {
        "value.regions": "r1\r\n r2 \r\n",
        "value.least": "",
        "value.picked": ["r2"],
    }
    path = start(ada, page, **fields)
    export = ada.site.house.asked_export(path.rpartition("/")[2])
    assert export.runtime_values["regions"] == ["r1", "r2"]
    assert export.runtime_values["least"] == "10.5"
    assert export.runtime_values["picked"] == ["r2"]


def test_a_wrong_value_is_told_in_the_form_which_keeps_the_others(ada: Visit) -> None:
    ada.site.house.apply(MORE)
    page = "/export/by-region"
    fields = {"format": "xlsx", "value.least": "lots<", "value.regions": "r1\nr3"}
    answer = ada.send(page, page, **fields)
    assert (answer.status_code, "invalid_value" in answer.text) == (422, True)
    assert re.search(r'name="value.least" value="lots&lt;"[^>]*aria-invalid="true"', answer.text)
    assert "r1\nr3</textarea>" in answer.text
    assert re.search(r'value="xlsx" required checked', answer.text)


def test_too_many_exports_say_when_to_come_again(ada: Visit) -> None:
    for _ in range(5):
        start(ada)
    answer = ada.send(START, START, format="csv")
    assert (answer.status_code, "too_many_exports" in answer.text) == (429, True)
    assert int(answer.headers["retry-after"]) > 0


def test_cancelled_it_is_told_so_and_again_it_is_refused(ada: Visit) -> None:
    path = start(ada)
    hidden = ada.hidden(path, f"{path}/cancel")
    assert ada.send(path, f"{path}/cancel").headers["location"] == path
    assert "Cancelled" in ada.get(path).text
    headers = {"Cookie": ada.cookie, "Sec-Fetch-Site": "same-origin"}
    again = ada.site.client.post(f"{path}/cancel", data=hidden, headers=headers)
    assert (again.status_code, "already_finished" in again.text) == (409, True)


def test_the_list_goes_on(ada: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports_page, "PAGE", 2)
    made = set()
    for _ in range(3):
        made.add(start(ada))
        ada.site.house.clock.at += timedelta(seconds=1)
    first = ada.get("/exports").text
    older = re.search(r'href="(/exports\?cursor=[^"]+)" rel="next"', first)
    assert older is not None
    second = ada.get(unescape(older[1])).text
    listed = set(re.findall(r'<a href="(/exports/[a-z2-7]{26})">', first + second))
    assert (listed, 'rel="next"' in second) == (made, False)


def test_one_sees_what_one_may_open_and_govern_alone(ada: Visit, bob: Visit) -> None:
    ada.deliver(MONDAY)
    bob.sign_in("bob")
    assert ("All orders" in ada.get("/export").text, "weekly" in ada.get("/schedules").text) == (
        True,
        True,
    )
    assert "All orders" not in bob.get("/export").text
    assert "weekly" not in bob.get("/schedules").text


@pytest.mark.parametrize(
    ("own", "unknown"),
    [
        (START, "/export/no-such"),
        (WEEKLY, "/schedules/no-such"),
        ("{export}", "/exports/no-such"),
        ("{export}/file", "/exports/no-such/file"),
        (f"{WEEKLY}/occurrences/{{key}}", f"{WEEKLY}/occurrences/no-such"),
    ],
)
def test_what_is_anothers_looks_as_if_it_were_not_there(
    ada: Visit, bob: Visit, own: str, unknown: str
) -> None:
    house = ada.site.house
    ada.deliver(MONDAY)
    bob.sign_in("bob")
    path = own.format(export=start(ada), key=house.history()[0].key)
    assert ada.get(path).status_code != 404
    foreign, missing, impossible = bob.get(path), bob.get(unknown), bob.get(f"{unknown}%00")
    assert foreign.status_code == missing.status_code == impossible.status_code == 404
    names = {"all-orders": "X", "no-such": "X", "X\\x00": "X"}
    texts = {_without(answer.text, names) for answer in (foreign, missing)}
    assert len(texts) == 1


def test_an_administrator_sees_every_schedule(ada: Visit) -> None:
    ada.site.house.apply(MORE)
    abe = Visit(ada.site).sign_in("abe")
    assert "Weekly orders" in abe.get("/schedules").text
    assert abe.get(WEEKLY).status_code == 200


def test_a_schedule_is_told_whole(ada: Visit) -> None:
    house = ada.site.house
    ada.deliver(MONDAY)
    house.clock.at = MONDAY + timedelta(hours=1)
    page = ada.get(WEEKLY).text
    for said in (
        "Every Monday at 08:00",
        "Mon 11 Jan 2027, 08:00 +01:00",
        "Bob Buyer",
        "Dan Gone",
        "Ada Owner",
        "Mon 04 Jan: Delivered",
        "2 sent",
        "1 skipped",
        "Rows and time over time",
    ):
        assert said in page, said
    assert "example.org" not in page  # no address
    assert page.count("<rect x=") >= 2
    assert re.search(r"<title id=.chart-rows-title.>Rows of the last 1 files</title>", page)


def test_pause_and_resume_with_a_reason(ada: Visit) -> None:
    answer = ada.send(WEEKLY, f"{WEEKLY}/pause", reason=" Stock-taking <week>\n ")
    page = ada.get(answer.headers["location"]).text
    assert ("Stock-taking &lt;week&gt;" in page, "Paused." in page) == (True, True)
    assert ada.site.house.schedule().state == "paused"
    ada.send(WEEKLY, f"{WEEKLY}/resume")
    assert ada.site.house.schedule().state == "active"


def test_what_is_refused_is_told_on_the_page_of_the_schedule(ada: Visit) -> None:
    hidden = ada.hidden(WEEKLY, f"{WEEKLY}/pause")
    ada.send(WEEKLY, f"{WEEKLY}/pause")
    headers = {"Cookie": ada.cookie, "Sec-Fetch-Site": "same-origin"}
    again = ada.site.client.post(f"{WEEKLY}/pause", data=hidden, headers=headers)
    assert (again.status_code, "already_paused" in again.text) == (409, True)
    assert "Weekly orders" in again.text


def test_run_now_twice_by_one_page_is_one_occurrence(ada: Visit) -> None:
    hidden = ada.hidden(WEEKLY, f"{WEEKLY}/run")
    headers = {"Cookie": ada.cookie, "Sec-Fetch-Site": "same-origin"}
    first, second = (
        ada.site.client.post(f"{WEEKLY}/run", data=hidden, headers=headers).headers["location"]
        for _ in range(2)
    )
    assert first == second
    assert "data-live" in ada.get(first).text
    assert ada.site.house.work(DELIVERY_LANE) == ["delivered"]
    page = ada.get(first).text
    for said in ("Delivered", "Bob Buyer", "Cyd Clerk", "Skipped", "Is not active"):
        assert said in page, said
    assert "example.org" not in page


def test_a_test_goes_to_who_asks(ada: Visit) -> None:
    path = ada.send(WEEKLY, f"{WEEKLY}/test").headers["location"]
    ada.site.house.work(DELIVERY_LANE)
    assert ada.site.house.addressees() == ["ada@example.org"]
    assert "Test of Weekly orders" in ada.get(path).text


def test_a_newer_version_is_hinted_at_and_taken(ada: Visit) -> None:
    house = ada.site.house
    house.apply(
        "workspace: {name: acme}\nqueries:\n  all-orders:\n    title: All orders\n"
        "    dataset: orders\n    fields: [{field: id}]\n"
    )
    assert "Move to version 2" in ada.get(WEEKLY).text
    ada.send(WEEKLY, f"{WEEKLY}/repin")
    assert house.schedule().pinned_version == 2
    assert "Move to version" not in ada.get(WEEKLY).text


def test_there_is_nothing_to_resend_and_that_is_told(ada: Visit) -> None:
    house = ada.site.house
    ada.deliver(MONDAY)
    path = f"{WEEKLY}/occurrences/{house.history()[0].key}"
    hidden = {"form": ada.hidden(WEEKLY, f"{WEEKLY}/pause")["form"]}
    headers = {"Cookie": ada.cookie, "Sec-Fetch-Site": "same-origin"}
    assert "/resend" not in ada.get(path).text
    answer = ada.site.client.post(f"{path}/resend", data=hidden, headers=headers)
    assert (answer.status_code, "nothing_to_resend" in answer.text) == (409, True)
    elsewhere = ada.site.client.post(
        path.replace("weekly", "other") + "/resend", data=hidden, headers=headers
    )
    assert elsewhere.status_code == 404


def test_an_occurrence_names_the_dagster_runs_of_its_attempts(ada: Visit) -> None:
    ada.deliver(MONDAY)
    told = ada.get(f"{WEEKLY}/occurrences/{ada.site.house.history()[0].key}").text
    assert re.search(r'run</span> <span class="code breakable">test</span>', told)


def test_the_history_goes_on(ada: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules_page, "HISTORY", 2)
    for number in range(5):
        ada.deliver(MONDAY + number * WEEK)
    seen: list[str] = []
    path: str | None = WEEKLY
    while path:
        html = ada.get(path).text
        seen += re.findall(r'class="main"><a href="[^"]*/occurrences/([^"]+)"', html)
        assert set(re.findall(r'data-label="Read as">([^<]*)<', html)) == {"Ada Owner"}
        older = re.search(r'href="([^"#]+)#history" rel="next"', html)
        path = unescape(older[1]) if older else None
    assert len(seen) == len(set(seen)) == 5


def test_the_mailbox_shows_a_message_in_a_frame_that_may_do_nothing(ada: Visit) -> None:
    assert "No messages yet" in ada.get("/mailbox").text
    ada.deliver(MONDAY)
    listed = re.findall(r'href="(/mailbox/[^"]+)"', ada.get("/mailbox").text)
    assert len(listed) == 2
    page = ada.get(listed[0])
    assert f'src="{listed[0]}/body"' in page.text
    body = ada.get(f"{listed[0]}/body")
    policy = body.headers["content-security-policy"]
    assert ("sandbox" in policy, "allow-scripts" in policy, "allow-same-origin" in policy) == (
        True,
        False,
        False,
    )
    assert ('<base target="_top">' in body.text, "/d/" in body.text) == (True, True)


@pytest.mark.parametrize("key", ["no-such", "..%2Fqueries", "%00", ".writing-x"])
def test_no_other_file_is_shown_as_a_message(ada: Visit, key: str) -> None:
    ada.deliver(MONDAY)
    for path in (f"/mailbox/{key}", f"/mailbox/{key}/body"):
        assert ada.get(path).status_code == 404


def _without(text: str, names: dict[str, str]) -> str:
    for name, other in names.items():
        text = text.replace(name, other)
    return text
