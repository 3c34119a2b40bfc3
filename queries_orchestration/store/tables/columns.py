"""What the tables are built of: every row carries its workspace, every foreign key carries it too.

So no row can point into another workspace. States are checked by the database.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    MetaData,
    PrimaryKeyConstraint,
    String,
    UniqueConstraint,
)

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

KEY_LENGTH: Final = 63
"""Of the key of a piece of work: what a Dagster tag keeps."""


def id_column(name: str = "id", *, nullable: bool = False) -> Column[str]:
    """Return a column for one of our ids."""
    return Column(name, String(26), nullable=nullable)


def key_column(name: str = "key", *, nullable: bool = False) -> Column[str]:
    """Return a column for the key of a piece of work."""
    return Column(name, String(KEY_LENGTH), nullable=nullable)


def one_of(column: str, *values: str) -> CheckConstraint:
    """Return the rule that ``column`` holds one of ``values``."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def within(table: str, *columns: str, target: str = "id") -> ForeignKeyConstraint:
    """Return a foreign key that stays within the workspace; ``target`` names its columns."""
    targets = [f"{table}.workspace_id", *(f"{table}.{name}" for name in target.split())]
    return ForeignKeyConstraint(["workspace_id", *columns], targets)


def one_recipient() -> CheckConstraint:
    """Return the rule that a row is of a person or of an outside address.

    Its ``recipient_id`` is the id of the one that it is.
    """
    return CheckConstraint(
        "(person_id IS NULL) <> (outside_id IS NULL)"
        " AND recipient_id = COALESCE(person_id, outside_id)",
        name="recipient",
    )


def catalog_columns() -> list[Column[str]]:
    """Return the columns of every row that a catalog file can hold; ``name`` is its name there."""
    return [
        id_column("workspace_id"),
        id_column(),
        Column("name", String(100), nullable=False),
        Column("title", String(900), nullable=False),
        Column("written_by", String(8), nullable=False),
    ]


def catalog_rules() -> list[PrimaryKeyConstraint | UniqueConstraint | CheckConstraint]:
    """Return the rules of every such row."""
    return [
        PrimaryKeyConstraint("workspace_id", "id"),
        UniqueConstraint("workspace_id", "name"),
        one_of("written_by", "file", "other"),
    ]
