"""The databases that the fixtures make are real, separate and of the kind they say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg2
import pytest
from sqlalchemy import Connection, create_engine, inspect, make_url, text
from sqlalchemy.exc import OperationalError

from queries_orchestration_tests.postgres import PostgresServer, as_owner, running_postgres


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def test_what_is_written_into_a_database_is_read_from_it(database_url: str) -> None:
    with connected(database_url) as connection:
        connection.execute(text("CREATE TABLE notes (words TEXT)"))
        connection.execute(text("INSERT INTO notes VALUES ('Füße')"))
    with connected(database_url) as connection:
        assert connection.scalars(text("SELECT words FROM notes")).all() == ["Füße"]


def test_two_databases_of_one_test_are_separate_and_of_one_kind(
    database_url: str, source_url: str, database_kind: str
) -> None:
    with connected(database_url) as connection:
        connection.execute(text("CREATE TABLE notes (words TEXT)"))
    with connected(source_url) as connection:
        assert inspect(connection).get_table_names() == []
        assert connection.dialect.name == database_kind
    assert make_url(database_url).get_backend_name() == database_kind


def test_a_store_has_its_tables_and_a_place_of_its_own(store_url: str, database_url: str) -> None:
    with connected(as_owner(store_url)) as connection:
        assert "alembic_version" in inspect(connection).get_table_names()
    with connected(database_url) as connection:
        assert inspect(connection).get_table_names() == []


def test_a_copy_of_a_template_holds_its_rows_and_leaves_it_alone(postgres: PostgresServer) -> None:
    template = postgres.create_database()
    with connected(template) as connection:
        connection.execute(text("CREATE TABLE notes AS SELECT 1 AS number"))
    copy = postgres.create_database(template=template)
    with connected(copy) as connection:
        assert connection.scalar(text("SELECT number FROM notes")) == 1
        connection.execute(text("DELETE FROM notes"))
    with connected(template) as connection:
        assert connection.scalar(text("SELECT number FROM notes")) == 1
    postgres.drop(copy)
    postgres.drop(template)


def test_a_dropped_database_is_gone_even_under_an_open_connection(
    postgres: PostgresServer,
) -> None:
    url = postgres.create_database()
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        postgres.drop(url)
        with pytest.raises(OperationalError):
            connection.execute(text("SELECT 1"))
    engine.dispose()
    with pytest.raises(OperationalError, match="does not exist"), connected(url):
        pass


def test_the_server_lets_nobody_in_without_its_password(postgres: PostgresServer) -> None:
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(
            host="127.0.0.1",
            port=postgres.port,
            user="postgres",
            password="guessed",
            dbname="postgres",
        )


def test_a_server_is_gone_when_its_block_ends() -> None:
    with running_postgres() as server:
        assert server.is_up()
    assert not server.is_up()
