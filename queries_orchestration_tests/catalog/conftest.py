"""Applies the texts of catalogs as files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.catalog.changes import CatalogChanges
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import CatalogFault, InvalidCatalog
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import NOW, Apply, Refuse


@pytest.fixture
def database(store_url: str) -> Database:
    return Database(store_url)


@pytest.fixture
def apply(database: Database, tmp_path: Path) -> Apply:
    """Applies texts as files ``1.yaml``, ``2.yaml`` …"""

    def apply_texts(
        *texts: str, now: datetime = NOW, prune: bool = False, take_over: bool = False
    ) -> CatalogChanges:
        files = []
        for number, text in enumerate(texts, start=1):
            files.append(tmp_path / f"{number}.yaml")
            files[-1].write_text(text)
        return apply_catalog(
            database,
            files,
            clock=lambda: now,
            by=OPERATOR,
            environment={},
            prune=prune,
            take_over=take_over,
        )

    return apply_texts


@pytest.fixture
def faults_of(apply: Apply) -> Refuse:
    """Applies texts that must be refused, and returns the faults."""

    def refused(*texts: str, prune: bool = False) -> list[CatalogFault]:
        with pytest.raises(InvalidCatalog) as refusal:
            apply(*texts, prune=prune)
        return list(refusal.value.faults)

    return refused
