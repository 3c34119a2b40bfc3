"""A workspace's own words in its messages: kept, taken away, and refused with file and line."""

from __future__ import annotations

import pytest

from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import GOOD, Apply, Refuse, touched, workspace_of

OWN = """\
workspace:
  name: acme
  messages:
    sender_name: Acme Berichte
    subject: "{{ schedule }} ({{ rows }})"
    intro: |
      {{ schedule }} ist da

      Gruss
"""


def test_words_are_kept_until_files_say_others(apply: Apply, database: Database) -> None:
    apply(GOOD)
    assert touched(apply(OWN)) == {"workspaces": ("acme",)}
    assert workspace_of(database).messages == {
        "sender_name": "Acme Berichte",
        "subject": "{{ schedule }} ({{ rows }})",
        "intro": "{{ schedule }} ist da\n\nGruss",
    }
    assert touched(apply(OWN)) == {}
    assert touched(apply(GOOD)) == {}
    apply("workspace: {name: acme, messages: {}}\n")
    assert workspace_of(database).messages is None


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("{{ rows }}", "{{ row }}", 5, "there is no {{ row }}; there is workspace, schedule"),
        ("{{ rows }}", "{{ rows * 9 }}", 5, "a template has text, {{ name }} and"),
        ("ist da", "{{ link }}", 6, "`intro` of the workspace's messages, line 1 of it: there is"),
        ("Gruss", "{% if x", 6, "`intro` of the workspace's messages, line 3 of it: a template"),
        ("{{ schedule }} (", "{% for x in y %}", 5, "a template has text"),
        ("subject", "subjekt", 5, "has no key `subjekt`: did you mean `subject`?"),
        ("Acme Berichte", "[x]", 4, "must be a text, not a list"),
        ("Acme Berichte", '"a\\nb"', 4, "must be one line"),
        ("Acme Berichte", '"a\\u202eb\\u0007"', 4, "must be one line without control"),
        ("Gruss", "x" * 2_001, 6, "2000 is the most"),
        ('"{{ schedule }} ({{ rows }})"', '"{{ rows }}"', 5, "it can come out empty"),
    ],
)
def test_what_could_not_be_used_is_refused(
    apply: Apply, faults_of: Refuse, old: str, new: str, line: int, message: str
) -> None:
    apply(GOOD)
    (fault,) = faults_of(OWN.replace(old, new))
    assert message in fault.message
    assert fault.line == line


def test_two_files_say_the_same_words_or_there_is_a_fault(apply: Apply, faults_of: Refuse) -> None:
    apply(GOOD, OWN, OWN)
    (fault,) = faults_of(GOOD, OWN, OWN.replace("Gruss", "Bis bald"))
    assert "has another messages at" in fault.message
