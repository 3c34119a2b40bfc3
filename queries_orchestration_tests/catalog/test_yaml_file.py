"""Files become nodes with lines; whatever is wrong with a file is a fault, never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from queries_orchestration.catalog.yaml_file import MAX_BYTES, read_yaml


def read(tmp_path: Path, text: str | bytes) -> tuple[list[object], list[tuple[int, str]]]:
    path = tmp_path / "catalog.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    documents, faults = read_yaml(path)
    assert all(fault.file == str(path) for fault in faults)
    plain = [document.plain() for document in documents]
    return plain, [(fault.line, fault.message) for fault in faults]


def test_plain_values_follow_the_core_schema_of_yaml_1_2(tmp_path: Path) -> None:
    text = (
        "[true, False, null, ~, '', 12, -3, +4, 1.5, 2e3, 010, no, on, Yes, 12:30, 2027-01-31,"
        " '7', ! 8, !!str 9, 1_000, 0x1F, .inf]"
    )
    documents, faults = read(tmp_path, text)
    assert faults == []
    assert documents[0] == [
        *[True, False, None, None, "", 12, -3, 4, 1.5, 2000.0, 10, "no", "on", "Yes"],
        *["12:30", "2027-01-31", "7", "8", "9", "1_000", "0x1F", ".inf"],
    ]


def test_every_node_knows_its_line(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text("a:\n  b:\n    - 1\n    -\n      c: 2\n---\nd: 3\n")
    (first, second), faults = read_yaml(path)
    assert faults == []
    assert isinstance(first.content, dict)
    assert isinstance(second.content, dict)
    a = first.content["a"]
    assert isinstance(a.content, dict)
    b = a.content["b"]
    assert isinstance(b.content, list)
    assert (a.line, b.line, [item.line for item in b.content]) == (1, 2, [3, 5])
    assert second.content["d"].line == 7


def test_an_alias_repeats_its_anchor_on_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text("a: &rule [1, 2]\nb:\n  *rule\nc: *rule\n")
    (document,), faults = read_yaml(path)
    assert faults == []
    assert document.plain() == {"a": [1, 2], "b": [1, 2], "c": [1, 2]}
    assert isinstance(document.content, dict)
    assert document.content["c"].line == 4


NESTED_BY_ALIASES = "\n".join(
    [f"a0: &a0 {'[' * 30}{']' * 30}"]
    + [f"a{n}: &a{n} {'[' * 30}*a{n - 1}{']' * 30}" for n in range(1, 400)]
)
BOMB = "\n".join(
    ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 100)}]" for n in range(1, 10)]
)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key `a` is here twice: line 1 has it already"),
        (b"a: 1\nb: \xff\n", 2, "is not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, "is not UTF-8"),
        ("", 1, "is empty"),
        ("# only a comment\n", 1, "is empty"),
        ("a: 1\nb: \x07\n", 2, "control character"),
        ('a: 1\nb: "\\0"\n', 2, "NUL"),
        ("a: 1\nb: [1,\n", 3, "is not YAML"),
        ("a: 1\n\tb: 2\n", 2, "is not YAML"),
        ("a: 1\ncron: */5 * * * *\n", 2, "a text that begins with * must be in quotes"),
        ("a: &a [*a]\n", 1, "a text that begins with * must be in quotes"),
        ("a: 1\n? [b]\n: 2\n", 2, "a key must be a name"),
        ("a: &a b\n*a : 2\n", 2, "an alias cannot be a key"),
        ("a: 1\nb: !!python/object:os.system x\n", 2, "a tag (!…) has no meaning"),
        ("a: !secret {b: 1}\n", 1, "a tag (!…) has no meaning"),
        ("a: 1\nb: 0.10000000000000000000001\n", 2, "cannot be kept exactly"),
        ("a: 1\nb: 1e999\n", 2, "cannot be kept exactly"),
        (f"a: 1\nb: {'9' * 5000}\n", 2, "cannot be kept exactly"),
        ("a: 1\nb: " + "[" * 50 + "]" * 50, 2, "nested more than 40 levels"),
        ("[" * 100_000, 1, "nest"),
        ("- " * 100_000, 1, "nest"),
        (NESTED_BY_ALIASES, 2, "nested more than 40 levels"),
        (BOMB, 4, "more than 500000 values"),
        (b" " * (MAX_BYTES + 1), 1, "is larger than"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_file_that_cannot_be_read_is_a_fault_with_its_line(
    tmp_path: Path, text: str | bytes, line: int, message: str
) -> None:
    _, faults = read(tmp_path, text)
    assert [found for found, _ in faults] == [line]
    assert message in faults[0][1]


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", tmp_path, Path("nul\0.yaml")):
        documents, faults = read_yaml(path)
        assert documents == []
        assert [fault.line for fault in faults] == [1]
        assert faults[0].message.startswith("cannot be read: ")


def test_a_key_that_may_be_an_address_is_not_repeated(tmp_path: Path) -> None:
    _, faults = read(tmp_path, "ann@example.org: 1\nann@example.org: 2\n")
    assert faults == [(2, "the key (not shown) is here twice: line 1 has it already")]


def test_documents_before_a_fault_are_read(tmp_path: Path) -> None:
    documents, faults = read(tmp_path, "a: 1\n---\nb: [\n")
    assert documents == [{"a": 1}]
    assert [line for line, _ in faults] == [4]


@given(raw=st.one_of(st.binary(), st.text("{}[]:-?*&!|>'\"%#, \n\tab0").map(str.encode)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_no_bytes_crash_the_reader(tmp_path: Path, raw: bytes) -> None:
    documents, faults = read(tmp_path, raw)
    assert documents or faults
