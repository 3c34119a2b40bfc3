"""Addresses of pages, as others link to them: ours, and Dagster's of a run."""

from __future__ import annotations

from urllib.parse import quote


def occurrence_page(public_url: str, *, schedule_name: str, key: str) -> str:
    """Return the address of an occurrence's page; ``public_url`` is the root of our site."""
    return f"{public_url.rstrip('/')}/schedules/{_part(schedule_name)}/occurrences/{_part(key)}"


def export_page(public_url: str, *, export_id: str) -> str:
    """Return the address of an export's page; ``public_url`` is the root of our site."""
    return f"{public_url.rstrip('/')}/exports/{_part(export_id)}"


def run_page(dagster_url: str, *, run_id: str) -> str:
    """Return the address of a run in Dagster's UI; ``dagster_url`` is the root of that."""
    return f"{dagster_url.rstrip('/')}/runs/{_part(run_id)}"


def _part(text: str) -> str:
    return quote(text, safe="")
