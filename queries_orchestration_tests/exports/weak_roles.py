"""Roles of PostgreSQL that may less than ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import make_url

from queries_orchestration_tests.model.definitions import fill


@contextmanager
def weak_role(url: str, *attributes: str) -> Iterator[str]:
    """Yield the URL of a role that reads the tables there are; ALTER ROLE takes ``attributes``."""
    role = "weak_" + (make_url(url).database or "")
    fill(
        url,
        f"CREATE ROLE {role} LOGIN PASSWORD 'weak'",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
        *(f"ALTER ROLE {role} {attribute}" for attribute in attributes),
    )
    made = make_url(url).set(username=role, password="weak")
    yield made.render_as_string(hide_password=False)
    fill(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
