"""A workspace's own words: what a template may hold, and that nothing else gets through."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.headerregistry import Address
from email.message import EmailMessage

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.communications import own_templates
from queries_orchestration.communications.compose import Composed, compose
from queries_orchestration.communications.email_message import email_message
from queries_orchestration.communications.interface import Message, unsubscribe_headers
from queries_orchestration.communications.own_templates import (
    LONGEST_TEMPLATE,
    PARTS,
    VARIABLES,
    InvalidTemplate,
    check_template,
)
from queries_orchestration_tests.communications.test_compose import FACTS, UNSUBSCRIBE, Page, named

OWN = {
    "sender_name": "{{ workspace }} Berichte",
    "subject": "{{ schedule }}{% if slot %} vom {{ slot }}{% endif %}",
    "greeting": "{% if recipient %}Guten Tag {{ recipient }}{% else %}Guten Tag{% endif %}",
    "intro": "{{ schedule | upper }} ist da\n\n{{ rows }} Zeilen als {{ format }}, {{ size }},\n"
    "bis {{ link_ends }} aus {{ source }}.",
    "footer": "{{ workspace }}\nHamburg",
}


def test_every_part_can_have_words_of_the_workspace() -> None:
    for part, source in OWN.items():
        check_template(part, source)
    composed = compose(FACTS, OWN)

    assert composed.failed_parts == ()
    assert composed.sender_name == "Northwind Berichte"
    assert composed.subject == "Daily departures vom 2026-05-04 07:00 Europe/Berlin (UTC+02:00)"
    assert composed.text.startswith(
        "Guten Tag Ann Smith\n\nDAILY DEPARTURES ist da\n\n336,776 Zeilen als Excel workbook,"
        " 48.2 MB,\nbis 2026-05-11 07:00 Europe/Berlin (UTC+02:00) aus Departures by carrier.\n\n"
        "https://q.example.org/d/"
    )
    assert "\n-- \nNorthwind\nHamburg\nUnsubscribe: " in composed.text
    shown = Page(composed.html).text
    for words in ("Guten Tag Ann Smith", "DAILY DEPARTURES ist da", "336,776 Zeilen", "Hamburg"):
        assert words in shown
    assert "Hello" not in composed.text + shown
    assert "is ready" not in composed.text + shown


def test_what_has_no_value_is_left_out() -> None:
    composed = compose(replace(FACTS, slot=None, rows=None, recipient_name=""), OWN)

    assert composed.failed_parts == ()
    assert composed.subject == "Daily departures"
    assert composed.text.startswith("Guten Tag\n\nDAILY DEPARTURES ist da\n\nZeilen als Excel")


def test_a_part_that_says_nothing_can_be_left_out_and_the_links_cannot() -> None:
    composed = compose(FACTS, {"greeting": "{{ '' }}", "footer": "{{ '' }}"})

    assert composed.text.startswith("Daily departures is ready\n")
    assert FACTS.link_url in composed.text
    assert UNSUBSCRIBE in composed.text


@pytest.mark.parametrize("variable", VARIABLES)
def test_each_variable_has_a_value(variable: str) -> None:
    composed = compose(FACTS, {"greeting": f"<{{{{ {variable} }}}}>"})
    assert composed.failed_parts == ()
    assert not composed.text.startswith("<>")


@pytest.mark.parametrize(
    "source",
    [
        "{{ link }}",
        "{{ unsubscribe }}",
        "{{ nobody }}",
        "{{ workspace.__class__ }}",
        "{{ workspace['x'] }}",
        "{{ self }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ lipsum() }}",
        "{{ range(10) }}",
        "{{ workspace() }}",
        "{% for x in workspace %}{{ x }}{% endfor %}",
        "{% for x in 'ab' %}x{% endfor %}",
        "{% set workspace = 'x' %}",
        "{% set x = 'x' %}",
        "{% macro x() %}{% endmacro %}",
        "{% include 'x' %}",
        "{% extends 'x' %}",
        "{% import 'x' as x %}",
        "{% block x %}{% endblock %}",
        "{% autoescape false %}{% endautoescape %}",
        "{% filter upper %}x{% endfilter %}",
        "{{ 'x' * 1000000000 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ 'x' ~ 'y' }}",
        "{{ [1] }}",
        "{{ {} }}",
        "{{ workspace | center(1000000000) }}",
        "{{ workspace | safe }}",
        "{{ workspace | attr('x') }}",
        "{{ workspace | upper(1) }}",
        "{{ workspace is defined }}",
        "{{ workspace == 'x' }}",
        "{{ workspace",
        "{% if workspace %}",
        "{% endif %}",
        "{# an unclosed comment",
        "{{ " + "(" * 990 + "1" + ")" * 990 + " }}",
        "{{ " + "not " * 400 + "rows }}",
        "{% if rows %}" * 30 + "x" + "{% endif %}" * 30,
        "x" * (LONGEST_TEMPLATE + 1),
    ],
)
def test_anything_else_of_jinja_is_refused_at_once(source: str) -> None:
    with pytest.raises(InvalidTemplate) as told:
        check_template("greeting", source)
    assert told.value.__cause__ is None
    assert len(told.value.message) < 300


@pytest.mark.parametrize("part", ["subject", "intro"])
@pytest.mark.parametrize("source", ["{{ slot }}", "{% if rows %}x{% endif %}", "{# x #}"])
def test_what_must_say_something_always_does(part: str, source: str) -> None:
    with pytest.raises(InvalidTemplate, match="empty"):
        check_template(part, source)


def test_the_line_of_the_fault_is_told() -> None:
    with pytest.raises(InvalidTemplate) as told:
        check_template("intro", "one\ntwo {{ rows }}\n{{ row }}")
    assert told.value.line == 3
    assert "there is no {{ row }}; there is workspace, " in told.value.message


def test_a_template_that_cannot_be_used_gives_way_to_the_standard_one() -> None:
    """As when it was kept by another release, which had other variables."""
    standard = compose(FACTS)
    composed = compose(FACTS, {"subject": "{{ gone }}", "intro": "{% for %}", "footer": "Ours"})

    assert composed.failed_parts == ("subject", "intro")
    assert composed.subject == standard.subject
    assert composed.text == standard.text.replace("-- \nNorthwind", "-- \nOurs")


def test_a_value_is_never_a_template() -> None:
    facts = replace(named("{{ 7 * 7 }}{% for x in y %}"), link_url=FACTS.link_url)
    composed = compose(facts, OWN)

    assert composed.failed_parts == ()
    assert "{{ 7 * 7 }}{% for x in y %}" in composed.text
    assert "49" not in composed.subject


def mail_of(composed: Composed, recipient: str) -> EmailMessage:
    """What a mail program reads of it."""
    message = Message(
        communication_key="k",
        recipient_name=recipient,
        recipient_address="ann@example.org",
        sender_name=composed.sender_name,
        subject=composed.subject,
        text=composed.text,
        html=composed.html,
        message_id="<m@example.org>",
        headers=unsubscribe_headers(UNSUBSCRIBE),
    )
    sender = Address("Reports", "reports", "example.org")
    sent = email_message(message, sender=sender, date=datetime(2026, 5, 4, tzinfo=UTC)).as_bytes()
    assert max(map(len, sent.split(b"\r\n"))) <= 998
    read = message_from_bytes(sent, policy=policy.SMTP)
    assert isinstance(read, EmailMessage)
    return read


HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Auto-Submitted",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "MIME-Version",
    "Content-Type",
]
NASTY = [
    "Q1\r\nBcc: x@e.test",
    "Q1\nline",
    "<a href=https://e.test>Click</a>",
    "{{7*7}}",
    "{% raw %}{{ config }}",
    "x" * 900,
    "\N{BAR CHART}" * 300,
    "=?utf-8?q?=0D=0ABcc:_x?=",
    "\u202e\u2028\x00\x0b\x85",
    '"Doe, Jane" <jane@e.test>, x@e.test',
]


@pytest.mark.parametrize("own", [{}, OWN], ids=["standard", "own"])
@given(text=st.sampled_from(NASTY) | st.text(max_size=100))
def test_no_name_adds_a_header_or_an_element(own: Mapping[str, str], text: str) -> None:
    composed = compose(named(f"n{text}"), own)
    assert composed.failed_parts == ()

    read = mail_of(composed, f"n{text}")
    assert read.keys() == HEADERS
    assert [one.addr_spec for one in read["To"].addresses] == ["ann@example.org"]
    assert [one.addr_spec for one in read["From"].addresses] == ["reports@example.org"]
    assert read["List-Unsubscribe"] == f"<{UNSUBSCRIBE}>"
    assert read["Subject"].strip() == composed.subject  # it may be folded before its first word
    page, plain = Page(composed.html), Page(compose(named("x"), own).html)
    assert (page.tags, page.attributes) == (plain.tags, plain.attributes)


@given(text=st.text(max_size=60), part=st.sampled_from(PARTS))
def test_whatever_an_administrator_writes_is_text_or_refused(text: str, part: str) -> None:
    source = f"n{text}"
    try:
        check_template(part, source)
    except InvalidTemplate:
        return
    composed = compose(FACTS, {part: source})
    read = mail_of(composed, "Ann")
    assert read.keys() == HEADERS
    page = Page(composed.html)
    assert not {"script", "img", "form"} & set(page.tags)
    assert page.links == [FACTS.link_url, FACTS.link_url, UNSUBSCRIBE]


def test_html_in_a_template_is_text() -> None:
    source = "<script>alert(1)</script>\n<a href='https://e.test'>x</a>"
    for part in ("intro", "footer"):
        composed = compose(FACTS, {part: source})
        assert "script" not in Page(composed.html).tags
        assert html.escape("<script>") in composed.html


def test_the_long_unsubscribe_address_stays_whole_in_its_header() -> None:
    url = f"https://q.example.org/u/{'a' * 100}.{'b' * 220}.{'c' * 43}"
    message = Message(
        communication_key="k",
        recipient_name="Ann",
        recipient_address="ann@example.org",
        subject="s",
        text="t",
        html="h",
        message_id="<m@example.org>",
        headers=unsubscribe_headers(url),
    )
    sender = Address("Reports", "reports", "example.org")
    sent = email_message(message, sender=sender, date=datetime(2026, 5, 4, tzinfo=UTC)).as_bytes()

    assert f"\r\nList-Unsubscribe: <{url}>\r\n".encode() in sent
    assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in sent
    assert sent.startswith(b"From: Reports <reports@example.org>\r\n")


def test_one_click_is_offered_over_https_only() -> None:
    assert unsubscribe_headers("http://localhost/u/x") == {
        "List-Unsubscribe": "<http://localhost/u/x>"
    }
    assert "List-Unsubscribe-Post" in unsubscribe_headers("https://q.example.org/u/x")


@pytest.mark.parametrize("name", ["upper", "lower", "trim"])
def test_a_filter_of_what_has_no_value_says_nothing(name: str) -> None:
    values = dict.fromkeys(VARIABLES, "x") | {"recipient": None}
    source = f"Hello{{{{ recipient|{name} }}}}!"
    assert own_templates.render("greeting", source, values) == "Hello!"
    with pytest.raises(InvalidTemplate, match="come out empty"):
        check_template("subject", f"{{{{ slot|{name} }}}}")


@pytest.mark.parametrize("source", ["\u200b", "\u2060\ufeff", "\u00a0\u200d", "\u0301"])
@pytest.mark.parametrize("part", ["subject", "intro"])
def test_what_does_not_show_is_nothing(part: str, source: str) -> None:
    with pytest.raises(InvalidTemplate, match="come out empty"):
        check_template(part, source)


@pytest.mark.parametrize("source", ["{{ slot|trim('x') }}a", "{{ slot|upper(x=1) }}a"])
def test_a_filter_takes_no_arguments(source: str) -> None:
    with pytest.raises(InvalidTemplate, match="a template has text"):
        check_template("subject", source)


def test_a_checked_template_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand recipients cost a thousand renderings, not a thousand compilations."""
    source = "made once {{ schedule }}"
    check_template("greeting", source)
    monkeypatch.setattr(own_templates, "_environment", None)

    assert own_templates.render("greeting", source, dict.fromkeys(VARIABLES, "x")) == "made once x"
