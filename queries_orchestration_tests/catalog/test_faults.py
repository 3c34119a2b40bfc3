"""Every fault is reported with its file and line, all together, and nothing is written."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from sqlalchemy import func, select

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import CatalogFault, InvalidCatalog
from queries_orchestration.store.database import Database
from queries_orchestration.store.migrate import upgrade
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.catalog.acme import (
    ANN,
    GOOD,
    KINDS,
    NOW,
    Refuse,
    changed,
    line_of,
)
from queries_orchestration_tests.catalog.summary import WITH_REPORT


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database into which only refused catalogs are applied."""
    url = f"sqlite:///{tmp_path_factory.mktemp('faults') / 'store.db'}"
    upgrade(url)
    database = Database(url)
    yield database
    with database.across.read() as connection:
        for table in metadata.sorted_tables:
            rows = connection.scalar(select(func.count()).select_from(table))
            assert rows == 0, f"a refused catalog wrote into {table.name}"


@pytest.fixture
def refuse(empty: Database, tmp_path: Path) -> Refuse:
    """Applies texts as files ``1.yaml`` … that must be refused, and returns the faults."""

    def faults_of(*texts: str) -> list[CatalogFault]:
        files = [tmp_path / f"{number}.yaml" for number in range(1, len(texts) + 1)]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        with pytest.raises(InvalidCatalog) as refusal:
            apply_catalog(empty, files, clock=lambda: NOW, by=OPERATOR, environment={})
        return list(refusal.value.faults)

    return faults_of


WORKSPACE = "workspace: {name: acme, title: Acme Ltd, time_zone: Europe/Berlin}"
URL = "  warehouse: {url_variable: WAREHOUSE_URL}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # Workspaces
        (WORKSPACE, "workspace: {title: Acme, time_zone: UTC}", "needs the key `name`"),
        (WORKSPACE, "workspace: {name: Acme, title: A, time_zone: UTC}", "is not a name"),
        (WORKSPACE, "workspace: {name: acme, title: A}", "is new and needs time_zone"),
        (WORKSPACE, "workspace: {name: acme, time_zone: UTC}", "is new and needs title"),
        (WORKSPACE, "workspace: {name: acme, title: A, time_zone: CET}", "Europe/Berlin?"),
        (WORKSPACE, "workspace: {name: acme, title: A, time_zone: 3}", "must be a text"),
        (WORKSPACE, "workspace: acme", "must be a mapping"),
        ("queries:", "querys:", "no key `querys`: did you mean `queries`?"),
        # People
        (ANN, "  Ann: {title: Ann}", "`Ann` is not a name"),
        (ANN, f"  {'a' * 64}: {{title: Ann}}", "is not a name"),
        (ANN, "  ann: {roles: [author]}", "needs the key `title`"),
        (ANN, "  ann: {title: 5}", "must be a text, not a number: put it in quotes"),
        (ANN, '  ann: {title: "Ann\\nAuthor"}', "must be one line"),
        (ANN, f"  ann: {{title: {'A' * 301}}}", "301 characters; 300 is the most"),
        (ANN, "  ann: {title: ' '}", "must not be empty"),
        (ANN, "  ann: {title: Ann, addres: a@b.example}", "did you mean `address`?"),
        (ANN, "  ann: {title: Ann, address: Ann <ann@example.org>}", "not one e-mail address"),
        (ANN, "  ann: {title: Ann, roles: [boss]}", "must be one of reader, author"),
        (ANN, "  ann: {title: Ann, roles: author}", "must be a list, not a text"),
        (ANN, "  ann: {title: Ann, active: 'yes'}", "must be true or false, not a text"),
        # Connections
        (URL, "  warehouse: {url_variable: 'postgresql://u:secret@h/d'}", "is a URL"),
        (URL, "  warehouse: {url_variable: warehouse-url}", "must name an environment variable"),
        (URL, "  warehouse: {url_variable: QUERIES_DATABASE_URL}", "begins with QUERIES_"),
        (URL, "  warehouse: {url_var: X}", "did you mean `url_variable`?"),
        # Datasets
        ("connection: warehouse", "connection: warehous", "did you mean `warehouse`?"),
        ("relation: public.flights", "relation: a.b.c", "relation: must be a name, or"),
        ("carrier: {type: text}", "carrier: {type: words}", "'words' is not one of"),
        ("carrier: {type: text}", "carrier: {typ: text}", "unknown key 'typ'"),
        ("carrier: {type: text}", "carrier: text", "must be as `{type: text}`"),
        ("carrier: {type: text}", "carrier: {type: text, name: c}", "the name of a field stands"),
        ("key: [id]", "key: [idd]", "'idd' is not one of"),
        ("key: [id]", "key: []", "at least one entry"),
        ("- who: {roles: [author]}", "- who: {roles: [autor]}", "must be one of reader, author"),
        ("- who: {people: [bob]}", "- who: {people: [rob]}", "did you mean `bob`?"),
        ("fields: [id, carrier]", "fields: [id, carier]", "'carier' is not one of"),
        (
            "- {field: carrier, op: eq, value: AA}",
            "- {field: carrier, op: eq}",
            "'value' is missing",
        ),
        # Queries
        ("dataset: flights", "dataset: fligths", "there is no dataset `fligths`: did you mean"),
        ("- {field: delay}", "- {field: dely}", "fields.field: 'dely' is not one of"),
        ("since, type: date, default", "since, type: day, default", "its type must be one of"),
        ("{parameter: since}", "{parameter: sinse}", "filters.value.parameter: 'sinse'"),
        ("- {field: day, direction: desc}", "- {field: day, direction: down}", "sort.direction"),
        # Schedules
        ("query: delays", "query: delay", "there is no query `delay`: did you mean `delays`?"),
        ("owner: ann", "owner: an", "there is no person `an`: did you mean `ann`?"),
        ("owner: ann", "owner: bob", "its owner cannot open the query `delays`: The field"),
        ('cron: "30 6 * * *"', 'cron: "30 6 * *"', "give exactly five"),
        ('cron: "30 6 * * *"', "cron: 30", "must be a text, not a number"),
        ('cron: "30 6 * * *"', 'cron: "0 0 30 2 *"', "never comes"),
        ("    format: csv", "    format: pdf", "must be one of csv, xlsx"),
        ("    format: csv", "    format: csv\n    time_zone: Mars/Sea", "is not a time zone"),
        ("recipients: [ann, bob]", "recipients: [ann, rob]", "did you mean `bob`?"),
        ("recipients: [ann, bob]", "recipients: [ann, ann]", "among its recipients twice"),
        ("recipients: [ann, bob]", "recipients: []", "at least one recipient"),
        ("recipients: [ann, bob]", "recipients: ann", "must be a list"),
        ("{since: 2027-01-01}", "{since: yesterday}", "Parameter 'since': give a date"),
        ("{since: 2027-01-01}", "{sinse: 2027-01-01}", "no parameter `sinse`: did you mean"),
        ("{since: 2027-01-01}", "[since]", "must be a mapping from parameters"),
        ("    format: csv", "    format: csv\n    missed_slots: some", "latest, all, none"),
        ("    format: csv", "    format: csv\n    lateness_limit: 0", "must be from 1 to"),
        (
            "    format: csv",
            "    format: csv\n    starts_on: tomorrow",
            "a date such as",
        ),
        (
            "    format: csv",
            "    format: csv\n    starts_on: 20270131",
            "a date such as",
        ),
        (
            "    format: csv",
            "    format: csv\n    ends_on: 2027-02-30",
            "a date such as",
        ),
        ("    format: csv", "    format: csv\n    ends_on: 2020-01-01", "never comes again"),
        ("    format: csv", "    format: csv\n    last_day: yes please", "must be true or false"),
        ("    format: csv", "    format: csv\n    lateness_limit: 1h", "must be a whole number"),
        ("    format: csv", "    format: csv\n    skip_empty: no", "must be true or false"),
    ],
    ids=lambda value: value.strip()[:40],
)
def test_a_fault_names_its_line(refuse: Refuse, old: str, new: str, message: str) -> None:
    text = changed((old, new))
    line = line_of(text, new.split("\n")[-1])
    faults = refuse(text)
    assert [fault for fault in faults if fault.line == line and message in fault.message], faults


def test_a_mistake_is_one_fault(refuse: Refuse) -> None:
    assert len(refuse(changed(("- {field: delay}", "- {field: dely}")))) == 1
    assert len(refuse(changed(("carrier: {type: text}", "carrier: {type: words}")))) == 1
    assert len(refuse(changed(("owner: ann", "owner: an")))) == 1
    assert len(refuse(changed((URL, "  warehouse: {url: X}")))) == 2  # unknown, and missing


def test_an_inactive_owner_is_refused(refuse: Refuse) -> None:
    text = changed((ANN, ANN.replace("}", ", active: false}")))
    (fault,) = refuse(text)
    assert fault.line == line_of(text, "owner: ann")
    assert fault.message == "the schedule `morning`: its owner `ann` is not active"


def test_an_owner_without_any_access_is_refused(refuse: Refuse) -> None:
    text = changed((ANN, ANN.replace("author", "service")))
    (fault,) = refuse(text)
    assert fault.line == line_of(text, "owner: ann")
    assert "its owner cannot open the query `delays`: The person as whom" in fault.message


def test_all_faults_of_all_files_are_reported_together_in_their_order(
    refuse: Refuse, tmp_path: Path
) -> None:
    first = changed(
        ("carrier: {type: text}", "carrier: {type: words}"),
        ("delay: {type: decimal}", "delay: {type: number}"),
        ("owner: ann", "owner: nobody-here"),
        ("30 6 * * *", "30 6 * * * *"),
        ("recipients: [ann, bob]", "recipients: [ann, x1]"),
    )
    second = "workspace: {name: acme}\npeople:\n  eve: {title: Eve, rolls: []}\n"
    third = "workspace: [\n"
    faults = refuse(first, second, third)
    assert [(Path(fault.file).name, fault.line) for fault in faults] == [
        ("1.yaml", line_of(first, "type: words")),
        ("1.yaml", line_of(first, "type: number")),
        ("1.yaml", line_of(first, "owner: nobody-here")),
        ("1.yaml", line_of(first, "30 6 * * * *")),
        ("1.yaml", line_of(first, "[ann, x1]")),
        ("2.yaml", 3),
        ("3.yaml", 2),
    ]
    assert str(faults[-2]).startswith(f"{tmp_path / '2.yaml'}:3: the person `eve` has no key")


def test_all_faults_of_one_list_are_found(refuse: Refuse) -> None:
    text = changed(
        ("      - {field: day}\n", "      - {field: dy}\n"),
        ("      - {field: carrier}\n", "      - {field: carier}\n"),
        ("{field: day, direction: desc}", "{field: day, direction: down}"),
    )
    # The sort may be a consequence of a column that is not there, so it waits.
    assert [fault.line for fault in refuse(text)] == [
        line_of(text, "{field: dy}"),
        line_of(text, "{field: carier}"),
    ]


def test_a_name_that_two_files_define_is_a_fault_that_names_both_places(
    refuse: Refuse, tmp_path: Path
) -> None:
    (fault,) = refuse(GOOD, "workspace: {name: acme}\npeople:\n  ann: {title: Another Ann}\n")
    assert (Path(fault.file).name, fault.line) == ("2.yaml", 3)
    first = f"{tmp_path / '1.yaml'}:{line_of(GOOD, ANN)}"
    assert fault.message == f"`ann` of `people` is defined at {first} already"


def test_documents_must_agree_on_the_workspace(refuse: Refuse) -> None:
    (fault,) = refuse(GOOD, "workspace: {name: acme, title: Acme Ltd, time_zone: UTC}\n")
    assert (Path(fault.file).name, fault.line) == ("2.yaml", 1)
    assert "the workspace `acme` has another time_zone at" in fault.message


def test_names_of_another_workspace_are_unknown(refuse: Refuse) -> None:
    other = (
        "workspace: {name: other, title: O, time_zone: UTC}\n" + GOOD[GOOD.index("schedules:") :]
    )
    faults = refuse(GOOD, other)
    assert {Path(fault.file).name for fault in faults} == {"2.yaml"}
    assert any("there is no query `delays`" in fault.message for fault in faults)
    assert any("there is no person `ann`" in fault.message for fault in faults)


def test_no_fault_repeats_an_address_or_a_secret(refuse: Refuse) -> None:
    text = changed(
        (ANN, "  ann@example.org: {title: Ann}"),
        (URL, "  warehouse: {url_variable: 'postgresql://u:hunter2@h/d'}"),
        ("owner: ann", "owner: ann@example.org"),
        ("recipients: [ann, bob]", "recipients: [ann@example.org]"),
    )
    messages = "\n".join(fault.message for fault in refuse(text))
    assert "example.org" not in messages
    assert "hunter2" not in messages


def test_a_document_without_a_workspace_is_read_for_its_other_faults(refuse: Refuse) -> None:
    faults = refuse("people:\n  ann: {title: Ann, roles: [boss]}\n")
    assert [fault.line for fault in faults] == [1, 2]
    assert any("needs the key `workspace`" in fault.message for fault in faults)
    assert any("must be one of" in fault.message for fault in faults)


NAMES = st.sampled_from(["ann", "bob", "flights", "delays", "id", "day", "since", "eq", "all", "x"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    NAMES,
    st.text(string.printable + "ß€😀\u2028\x00", max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value below."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from paths_of(item, (*path, key))


def replaced(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return the tree with one value replaced; the tree itself if the path leads nowhere."""
    if not path:
        return value
    key, *rest = path
    if isinstance(tree, dict) and key in tree:
        return tree | {key: replaced(tree[key], tuple(rest), value)}
    if isinstance(tree, list) and key in range(len(tree)):
        return [*tree[:key], replaced(tree[key], tuple(rest), value), *tree[key + 1 :]]
    return tree


PATHS = sorted(paths_of(yaml.safe_load(WITH_REPORT)), key=repr)


@given(changes=st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=3))
@settings(max_examples=150)
def test_no_value_in_any_place_crashes_the_apply(
    disposable: Database, file: Path, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    catalog = yaml.safe_load(WITH_REPORT)
    for path, value in changes:
        catalog = replaced(catalog, path, value)
    file.write_text(yaml.safe_dump(catalog, allow_unicode=True, sort_keys=False))
    apply_twice(disposable, file)


@given(text=st.text())
@settings(max_examples=100)
def test_no_text_crashes_the_apply(disposable: Database, file: Path, text: str) -> None:
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    apply_twice(disposable, file)


def apply_twice(database: Database, file: Path) -> None:
    """Apply a file that may be refused; if it is not, the second time must change nothing."""
    try:
        apply_catalog(database, [file], clock=lambda: NOW, by=OPERATOR, environment={})
    except InvalidCatalog:
        return
    again = apply_catalog(database, [file], clock=lambda: NOW, by=OPERATOR, environment={})
    for kind in KINDS:
        assert getattr(again, kind).created == getattr(again, kind).changed == ()


@pytest.fixture(scope="module")
def disposable(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A database for whatever is taken."""
    url = f"sqlite:///{tmp_path_factory.mktemp('any') / 'store.db'}"
    upgrade(url)
    return Database(url)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("file") / "catalog.yaml"
