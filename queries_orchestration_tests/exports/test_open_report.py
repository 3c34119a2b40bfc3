"""A report is opened section by section as a person, or refused before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_report import OpenedReport, OpenedSection, open_report
from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.sources import engine_of, read_snapshot
from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.reports import TextSection
from queries_orchestration.store import sources
from queries_orchestration.store.tables import datasets as datasets_table
from queries_orchestration_tests.exports.admitted import everything
from queries_orchestration_tests.house import CATALOG, House

LATE_ON_SUNDAY = datetime(2027, 1, 3, 23, 30, tzinfo=UTC)
"""Monday already in Berlin."""

DAYS = {
    "title": "Days",
    "connection": "shop",
    "relation": "days",
    "fields": {"day": {"type": "date", "nullable": False}, "amount": {"type": "decimal"}},
    "key": ["day"],
    "access": [{"who": {"roles": ["author"]}, "fields": "all", "rows": "all"}],
}
ORDERS_ACCESS = [
    {
        "who": {"people": ["bob"]},
        "fields": ["id", "region"],
        "rows": [{"field": "region", "op": "eq", "value": "r3"}],
    },
    {"who": {"roles": ["author"]}, "fields": "all", "rows": "all"},
]
QUERIES: dict[str, dict[str, Any]] = {
    "of-region": {
        "title": "Orders of a region",
        "dataset": "orders",
        "fields": [{"field": "id"}, {"field": "region"}],
        "filters": [
            {"field": "region", "op": "eq", "value": {"parameter": "region"}},
            {"field": "id", "op": "le", "value": {"parameter": "most"}},
        ],
        "parameters": [
            {"name": "region", "type": "text", "allowed": ["r1", "r2", "r3"], "default": "r1"},
            {"name": "most", "type": "integer", "default": 20, "required": False},
        ],
    },
    "amounts": {
        "title": "Amounts",
        "dataset": "orders",
        "fields": [{"field": "id"}, {"field": "amount"}],
    },
    "of-days": {
        "title": "Amounts of days",
        "dataset": "days",
        "fields": [{"aggregate": "sum", "field": "amount", "label": "Amount"}],
        "filters": [
            {"field": "day", "op": "ge", "value": {"parameter": "since"}},
            {"field": "day", "op": "lt", "value": {"parameter": "until"}},
        ],
        "parameters": [
            {"name": "since", "type": "date"},
            {"name": "until", "type": "date", "default": {"start_of": "year", "shift": 1}},
        ],
    },
}
ALL: dict[str, Any] = {
    "title": "All of it",
    "parameters": [
        {"name": "region", "type": "text", "default": "r2", "label": "Region"},
        {"name": "most", "type": "integer", "required": False},
        {"name": "since", "type": "date", "default": {"start_of": "week"}},
    ],
    "sections": [
        {"text": "About all."},
        {
            "show": "table",
            "title": "As wanted",
            "query": "of-region",
            "values": {"region": {"parameter": "region"}, "most": {"parameter": "most"}},
        },
        {
            "show": "table",
            "title": "As it is",
            "query": "of-region",
            "values": {"region": "r3", "most": 7},
        },
        {"show": "table", "title": "By default", "query": "of-region"},
        {"show": "table", "title": "Without", "query": "of-region", "values": {"most": None}},
        {"show": "table", "title": "Amounts", "query": "amounts", "totals": ["amount"]},
        {
            "show": "comparison",
            "title": "Change",
            "query": "of-days",
            "value": "Amount",
            "values": {"since": {"parameter": "since"}, "until": {"start_of": "month", "shift": 1}},
            "previous": {"since": {"start_of": "week", "shift": -1}},
        },
    ],
}
REPORTS = {
    "all": ALL,
    "regions": {"title": "Regions", "sections": [ALL["sections"][3], ALL["sections"][2]]},
    "words": {"title": "Words", "sections": [{"text": "Words only."}]},
    "strict": {
        "title": "Strict",
        "parameters": [{"name": "since", "type": "date"}],
        "sections": [
            {
                "show": "number",
                "title": "Amount",
                "query": "of-days",
                "value": "Amount",
                "values": {"since": {"parameter": "since"}},
            }
        ],
    },
}
REFUSED: list[tuple[str, str | None, dict[str, Any], str, str]] = [
    (
        "all",
        "cyd",
        {},
        "access_lost",
        'Section "As wanted": The person as whom it is read has no access to the dataset orders.',
    ),
    ("all", "bob", {}, "field_not_available", 'Section "Amounts": '),
    ("all", "dan", {}, "actor_inactive", "The person as whom it is read is not active"),
    ("words", "dan", {}, "actor_inactive", "The person as whom it is read is not active"),
    ("all", None, {}, "access_lost", "no longer in the workspace"),
    ("words", None, {}, "access_lost", "no longer in the workspace"),
    (
        "all",
        "ada",
        {"unheard_of": 1},
        "invalid_value",
        "The report has no parameter 'unheard_of': it takes region, most, since.",
    ),
    (
        "words",
        "ada",
        {"region": "r1"},
        "invalid_value",
        "The report has no parameter 'region': it takes none.",
    ),
    ("strict", "ada", {}, "invalid_value", "Parameter 'since' is required: give a date"),
    (
        "strict",
        "ada",
        {"since": None},
        "invalid_value",
        "Parameter 'since' is required: give a date",
    ),
    ("strict", "ada", {"since": "soon"}, "invalid_value", "Parameter 'since': give a date"),
    ("all", "ada", {"most": "many"}, "invalid_value", "Parameter 'most': give a whole number"),
    (
        "all",
        "ada",
        {"region": "r9"},
        "invalid_value",
        "Section \"As wanted\": Parameter 'region': give one of",
    ),
]
"""Which report, who, what they give, the code, and what the message says."""


@pytest.fixture
def house(house: House) -> House:
    """The house with reports; bob sees two fields of one region, cyd sees nothing."""
    catalog = yaml.safe_load(CATALOG)
    del catalog["schedules"]
    catalog["datasets"]["orders"]["access"] = ORDERS_ACCESS
    catalog["datasets"]["days"] = DAYS
    catalog["queries"] |= QUERIES
    catalog["reports"] = REPORTS
    house.apply(yaml.safe_dump(catalog))
    return house


def test_every_section_is_opened_with_its_values(house: House) -> None:
    before = everything(house)

    opened = _open(house, "all", "ada", {"region": "r3", "most": 5})

    assert (opened.workspace, opened.reader) == ("Acme", "Ada Owner")
    assert opened.values == {"region": "r3", "most": 5, "since": date(2027, 1, 4)}
    assert opened.stored_values == {"region": "r3", "most": 5, "since": "2027-01-04"}
    assert isinstance(opened.sections[0], TextSection)
    assert opened.sections[0].markdown == "About all."
    assert _values(opened) == {
        "As wanted": {"region": "r3", "most": 5},
        "As it is": {"region": "r3", "most": 7},
        "By default": {"region": "r1", "most": 20},
        "Without": {"region": "r1", "most": None},
        "Amounts": {},
        "Change": {"since": "2027-01-04", "until": "2027-02-01"},
    }
    change = _section(opened, "Change")
    assert change.previous is not None
    assert change.previous.stored_values == {"since": "2026-12-28", "until": "2027-02-01"}
    assert {one.previous for one in _sections(opened) if one is not change} == {None}
    assert everything(house) == before


def test_what_a_report_is_not_given_is_its_default_or_the_querys_own(house: House) -> None:
    opened = _open(house, "all", "ada", {})

    assert opened.values["region"] == "r2"
    assert opened.values["most"] is None
    assert _values(opened)["As wanted"] == {"region": "r2", "most": 20}


def test_relative_values_are_counted_from_the_moment_in_the_zone(house: House) -> None:
    """Late on Sunday the week in Berlin is the next one already."""
    in_utc = _open(house, "all", "ada", {}, time_zone="UTC")
    later = _open(
        house,
        "all",
        "ada",
        {"since": {"start_of": "month"}},
        moment=datetime(2027, 3, 10, tzinfo=UTC),
    )

    before = _section(in_utc, "Change").previous
    assert before is not None
    assert _values(in_utc)["Change"] == {"since": "2026-12-28", "until": "2027-02-01"}
    assert before.stored_values["since"] == "2026-12-21"
    assert later.stored_values["since"] == "2027-03-01"
    assert _values(later)["Change"] == {"since": "2027-03-01", "until": "2027-04-01"}


def test_a_section_reads_what_its_values_and_the_persons_rows_allow(house: House) -> None:
    by_owner = _open(house, "all", "ada", {"region": "r2", "most": 10})
    by_bob = _open(house, "regions", "bob", {})

    assert _rows(_section(by_owner, "As wanted").query) == [(2, "r2"), (9, "r2")]
    assert _rows(_section(by_owner, "As it is").query) == [(3, "r3")]
    assert _rows(_section(by_owner, "By default").query) == [(1, "r1"), (8, "r1"), (15, "r1")]
    assert len(_rows(_section(by_owner, "Without").query)) == len(range(1, 2_501, 7))
    assert _section(by_owner, "Amounts").query.compiled.columns == (
        Column("id", "integer"),
        Column("amount", "decimal"),
    )
    assert _rows(_section(by_bob, "By default").query) == []
    assert _rows(_section(by_bob, "As it is").query) == [(3, "r3")]


def test_what_cannot_be_opened_is_refused_by_code_and_section_and_writes_nothing(
    house: House,
) -> None:
    before = everything(house)

    for report, person, given, code, message in REFUSED:
        refused = _refusal(house, report, person, given)
        assert (refused.code, given) == (code, given)
        assert message in refused.message
    assert everything(house) == before


def test_a_report_of_words_is_open_to_everybody_who_is_active(house: House) -> None:
    assert _open(house, "words", "cyd", {}).reader == "Cyd Clerk"


def test_a_connection_without_url_is_told_with_the_section(house: House) -> None:
    refused = _refusal(house, "all", "ada", {}, environment={})

    assert refused.code == "source_unavailable"
    assert 'Section "As wanted": The connection' in refused.message
    assert "SHOP_URL" in refused.message


def test_a_query_that_is_archived_is_gone_from_the_report(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql("UPDATE sources SET archived = true WHERE name = 'amounts'")

    refused = _refusal(house, "all", "ada", {})

    assert refused.code == "source_gone"
    assert refused.message == "The query 'amounts' of the report was deleted or archived."
    assert _open(house, "regions", "ada", {}).reader == "Ada Owner"


def test_a_query_that_no_longer_fits_its_dataset_breaks_the_report(house: House) -> None:
    _redefine_amount(house, None)

    refused = _refusal(house, "all", "ada", {})

    assert refused.code == "source_broken"
    assert "The query 'amounts' of the report: The query no longer fits" in refused.message
    assert "'orders'" in refused.message


def test_a_report_that_no_longer_fits_its_queries_is_broken(house: House) -> None:
    """Its totals are of a column that is no number any more."""
    _redefine_amount(house, "text")

    refused = _refusal(house, "all", "ada", {})

    assert refused.code == "source_broken"
    assert "The report no longer fits its queries: " in refused.message
    assert "'amount' is a text column" in refused.message


def test_a_version_that_there_is_not_is_gone(house: House) -> None:
    assert _refusal(house, "all", "ada", {}, version=2).code == "source_gone"


def test_a_version_shows_the_versions_of_queries_that_it_was_made_with(house: House) -> None:
    amounts = {
        **QUERIES["amounts"],
        "fields": [{"field": "id"}, {"field": "amount"}, {"field": "region"}],
    }
    house.apply(yaml.safe_dump({"workspace": {"name": "acme"}, "queries": {"amounts": amounts}}))

    old, new = _open(house, "all", "ada", {}, version=1), _open(house, "all", "ada", {}, version=2)

    assert len(_section(old, "Amounts").query.compiled.columns) == 2
    assert len(_section(new, "Amounts").query.compiled.columns) == 3


def _open(
    house: House,
    report: str,
    person: str | None,
    given: dict[str, Any],
    *,
    moment: datetime = LATE_ON_SUNDAY,
    time_zone: str = "Europe/Berlin",
    version: int = 1,
    environment: Mapping[str, str] | None = None,
) -> OpenedReport:
    """Open a report as a person of the house; None is somebody who is gone."""
    with house.backends.database.across.read() as connection:
        source = sources.by_name(connection, house.workspace_id, report)
        assert source is not None
        return open_report(
            connection,
            house.workspace_id,
            source_id=source.id,
            version=version,
            actor_id=new_id() if person is None else house.person(person),
            given_values=given,
            moment=moment,
            time_zone=time_zone,
            environment=house.environment if environment is None else environment,
        )


def _refusal(
    house: House, report: str, person: str | None, given: dict[str, Any], **more: Any
) -> QueriesError:
    with pytest.raises(QueriesError) as refused:
        _open(house, report, person, given, **more)
    return refused.value


def _sections(opened: OpenedReport) -> list[OpenedSection]:
    return [one for one in opened.sections if isinstance(one, OpenedSection)]


def _section(opened: OpenedReport, title: str) -> OpenedSection:
    (found,) = [one for one in _sections(opened) if one.section.title == title]
    return found


def _values(opened: OpenedReport) -> dict[str, dict[str, Any]]:
    """Return the exact values of each section's query by the section's title."""
    return {one.section.title: one.query.stored_values for one in _sections(opened)}


def _rows(opened: OpenedQuery) -> list[tuple[object, ...]]:
    with read_snapshot(engine_of(opened.database_url), timeout_seconds=30) as connection:
        return [row for page in read_pages(connection, opened.compiled) for row in page]


def _redefine_amount(house: House, type_: str | None) -> None:
    """Give the field another type, or take it away, as the catalog would not let it happen."""
    with house.backends.database.across.transaction() as connection:
        row = connection.execute(
            sa.select(datasets_table).where(datasets_table.c.name == "orders")
        ).one()
        fields = [field for field in row.definition["fields"] if field["name"] != "amount"]
        if type_ is not None:
            fields.append({"name": "amount", "type": type_})
        connection.execute(
            sa.update(datasets_table)
            .where(datasets_table.c.id == row.id)
            .values(definition={**row.definition, "fields": fields})
        )
