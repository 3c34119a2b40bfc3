"""Cancelling an export whose source is slow: the worker stops within a page."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from queries_orchestration.exports import make_file
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration_tests.downloads import export_of
from queries_orchestration_tests.exports.admitted import admit
from queries_orchestration_tests.house import House

PAGE_SECONDS = 0.25
PAGES = 40

SLOW_ORDERS = {
    "sqlite": "CREATE VIEW slow_orders AS SELECT * FROM orders WHERE (WITH RECURSIVE n(i) AS"
    " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900 + id % 2) SELECT count(*) FROM n) > 0",
    "postgresql": "CREATE VIEW slow_orders AS SELECT * FROM orders"
    " WHERE id % 100 <> 0 OR pg_sleep(0.025) IS NOT NULL",
}
"""Lets a thousand rows take about a quarter of a second, wherever they are."""


@pytest.fixture
def slow(house: House, database_kind: str) -> Iterator[House]:
    """The house with slow orders; its worker's heartbeat would notice a cancel too late."""
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM orders"))
        connection.execute(
            sa.text(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)"
                " INSERT INTO orders SELECT i, 'r', 1 FROM n"
            ),
            {"rows": PAGES * 1_000},
        )
        connection.execute(sa.text(SLOW_ORDERS[database_kind]))
    engine.dispose()
    house.apply(
        "workspace: {name: acme}\n"
        "datasets:\n"
        "  slow:\n"
        "    connection: shop\n"
        "    relation: slow_orders\n"
        "    fields: {id: {type: integer, nullable: false}}\n"
        "    key: [id]\n"
        "    access: [{who: {everyone: true}, fields: all, rows: all}]\n"
        "queries:\n"
        "  slow: {title: Slow, dataset: slow, fields: [{field: id}]}\n"
    )
    settings = replace(house.backends.settings, heartbeat_interval=60.0, heartbeat_silence=120.0)
    yield house.with_backends(replace(house.backends, settings=settings))
    with engine.begin() as connection:
        connection.execute(sa.text("DROP VIEW slow_orders"))
    engine.dispose()


def test_a_cancel_takes_effect_within_a_page(slow: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_file, "PROGRESS_INTERVAL", 0.05)
    export_id = admit(slow, query="slow")
    ended: list[str] = []
    worker = threading.Thread(target=lambda: ended.extend(slow.work("export")))
    worker.start()
    try:
        deadline = time.monotonic() + 20
        while not export_of(slow, export_id).rows_done and time.monotonic() < deadline:
            time.sleep(0.02)
        done = export_of(slow, export_id).rows_done

        cancel_export(
            slow.backends,
            slow.workspace_id,
            by=slow.by("ada"),
            export_id=export_id,
        )
        cancelled = time.monotonic()
        worker.join(20)
        seconds = time.monotonic() - cancelled
    finally:
        worker.join(20)

    assert ended == ["receive_lost"]
    assert 0 < done < PAGES * 1_000 / 2
    # To its end it would take many times as long.
    assert seconds < 4 * PAGE_SECONDS + 1
    export = export_of(slow, export_id)
    assert (export.state, export.message) == ("cancelled", "Cancelled by who asked for it.")
    assert export.rows_done <= done + 2_000
    assert slow.backends.storage.size(export.storage_key) is None
    assert slow.backends.storage.open_uploads("") == []
