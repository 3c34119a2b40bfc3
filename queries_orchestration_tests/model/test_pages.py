"""Addresses of our pages."""

from __future__ import annotations

from queries_orchestration.model.pages import export_page, occurrence_page, run_page


def test_a_page_is_under_the_root_and_its_parts_are_quoted() -> None:
    root = "https://queries.example.org/here"
    assert occurrence_page(f"{root}/", schedule_name="a b", key="s@20270104T070000Z") == (
        f"{root}/schedules/a%20b/occurrences/s%4020270104T070000Z"
    )
    assert export_page(root, export_id="e1") == f"{root}/exports/e1"
    assert run_page("http://dagster:3000/", run_id="r1") == "http://dagster:3000/runs/r1"
