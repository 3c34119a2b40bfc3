"""The wall between workspaces that PostgreSQL keeps: row-level security for the two roles.

It is beside the migrations, since roles are of a server and of an installation: ``queries init``
makes what lacks, also for a table that a later migration brings. The tables' owner is not bound by
it, so that migrations and backups see every row; the service never acts as the owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Table, make_url, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from queries_orchestration.model.errors import InvalidSettings, Refused
from queries_orchestration.store import database
from queries_orchestration.store.database import Across, Database
from queries_orchestration.store.roles import WORKSPACE_VARIABLE, Roles, roles_of, without_roles
from queries_orchestration.store.tables import counters, metadata, workspaces

_RAISING: Final = 0x77616C6C  # "wall": one number of our own in the database
_VERSIONS: Final = "alembic_version"
_INSUFFICIENT: Final = "42501"
_THERE_ALREADY: Final = ("42710", "23505")


def workspace_column(table: Table) -> str | None:
    """Return the column that says whose a row is; None of a table that is nobody's."""
    if table is workspaces:
        return "id"
    return "workspace_id" if "workspace_id" in table.columns else None


def raise_wall(url: str, *, owner_url: str) -> None:
    """Make the roles that ``url`` names, with their rights and policies; what is there stays.

    A table is locked only if something lacks there, and no two at once.

    Args:
        url: of the service; the user that it logs in gets both roles.
        owner_url: of who owns the tables.

    Raises:
        InvalidSettings: ``url`` names no user.
        Refused: that user is not there, or who owns the tables may not make roles
            (``roles_missing``), with what a DBA is to run.
        StoreUnavailable: the database cannot be reached, or a table was busy for too long.
    """
    parsed, roles = roles_of(make_url(url))
    if roles is None:
        return
    if not parsed.username:
        raise InvalidSettings(
            "QUERIES_DATABASE_URL names roles, so it must name the user who is to act in them."
        )
    owner = Database(without_roles(owner_url), kept_connections=1)
    try:
        _raise(owner.across, roles, login=parsed.username)
    finally:
        owner.close()


def faults(url: str) -> list[str]:
    """Return why the wall that ``url`` names does not stand, each with what to do.

    It is read as the user whom the address logs in: the roles may be missing.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    roles = roles_of(make_url(url))[1]
    if roles is None:
        return []
    with Database(without_roles(url)).across.read() as connection:
        missing = [role for role in (roles.service, roles.across) if not _is(connection, role)]
        if missing:
            return [f"there is no role {role}: run `queries init`" for role in missing]
        too_strong = list(_of_roles(connection, roles))
        return [
            *_of_login(connection, roles),
            *too_strong,
            *(
                f"the table {name} has no row-level security of {roles.service}, or another than"
                " ours: drop the policies there that are not ours, then run `queries init`"
                for name in _unguarded(connection, roles)
            ),
            *([] if too_strong else _of_rights(connection, roles)),
        ]


def is_asked_for(url: str) -> bool:
    """Tell whether the address names the roles of a wall."""
    return roles_of(make_url(url))[1] is not None


def _raise(across: Across, roles: Roles, *, login: str) -> None:
    with across.transaction() as connection:
        database.take_turn(connection, _RAISING)
        _make_roles(connection, roles, login=login)
        _let_in(connection, roles)
    for table in metadata.sorted_tables:
        # Each by itself: whoever works waits for one table at most.
        with across.transaction() as connection:
            database.take_turn(connection, _RAISING)
            database.limit_waits(connection, database.LOCK_SECONDS)
            _grant(connection, roles, table)
            if workspace_column(table):
                _guard(connection, roles, table)


def _make_roles(connection: Connection, roles: Roles, *, login: str) -> None:
    names = (roles.service, roles.across)
    quoted = connection.dialect.identifier_preparer.quote_identifier(login)
    if not _is(connection, login):
        raise Refused(
            f"There is no user {quoted} on the server of QUERIES_DATABASE_URL. Let a DBA run:"
            f" CREATE ROLE {quoted} LOGIN NOINHERIT, with a password; then run `queries init`"
            " again.",
            code="roles_missing",
        )
    lacking = [role for role in names if not _is(connection, role)]
    wanted = [
        f"CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"
        for role in lacking
    ]
    # Not at once with what the user may do otherwise: without a role it should see nothing.
    apart = " WITH INHERIT FALSE" if _is_apart_by_grant(connection) else ""
    wanted += [
        f"GRANT {role} TO {quoted}{apart}"
        for role in names
        if role in lacking or not _is_member(connection, login, role)
    ]
    for statement in wanted:
        try:
            with database.attempt(connection):
                connection.execute(text(statement))
        except (ProgrammingError, IntegrityError) as error:
            state = getattr(error.orig, "pgcode", None)
            if state in _THERE_ALREADY:
                continue  # from another database of this server, just now
            if state != _INSUFFICIENT:
                raise
            raise Refused(
                "The roles of the service cannot be made by this user. Let a DBA run:"
                f" {'; '.join(wanted)}; then run `queries init` again.",
                code="roles_missing",
            ) from None


def _let_in(connection: Connection, roles: Roles) -> None:
    schema = connection.scalar(text("SELECT current_schema()"))
    quoted = connection.dialect.identifier_preparer.quote_identifier(str(schema))
    for role in (roles.service, roles.across):
        may = text("SELECT has_schema_privilege(:role, :schema, 'USAGE')")
        if not connection.scalar(may, {"role": role, "schema": schema}):
            connection.execute(text(f"GRANT USAGE ON SCHEMA {quoted} TO {role}"))
    connection.execute(text(f"GRANT SELECT ON {_VERSIONS} TO {roles.across}"))


def _grant(connection: Connection, roles: Roles, table: Table) -> None:
    for role, rights in _rights(roles, table):
        held = connection.scalar(
            text("SELECT bool_and(has_table_privilege(:role, :table, r)) FROM unnest(:r) AS r"),
            {"role": role, "table": table.name, "r": rights.split(", ")},
        )
        if not held:
            connection.execute(text(f"GRANT {rights} ON {table.name} TO {role}"))


def _rights(roles: Roles, table: Table) -> tuple[tuple[str, str], ...]:
    """Return what each role may do in a table."""
    # What is nobody's is across workspaces; the service reads there that dispatching is stopped,
    # and counts what it does.
    rights = "SELECT, INSERT, UPDATE, DELETE"
    of_others = "SELECT, INSERT, UPDATE" if table is counters else "SELECT"
    of_service = rights if workspace_column(table) else of_others
    return (roles.service, of_service), (roles.across, rights)


def _guard(connection: Connection, roles: Roles, table: Table) -> None:
    is_on = connection.scalar(
        text("SELECT relrowsecurity FROM pg_class WHERE oid = CAST(:table AS regclass)"),
        {"table": table.name},
    )
    if not is_on:
        connection.execute(text(f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY"))
    there = set(connection.scalars(_POLICIES, {"table": table.name}))
    own = f"{workspace_column(table)} = current_setting('{WORKSPACE_VARIABLE}', true)"
    for role, rows in ((roles.service, own), (roles.across, "true")):
        if role not in there:
            connection.execute(
                text(
                    f"CREATE POLICY {role} ON {table.name} TO {role}"
                    f" USING ({rows}) WITH CHECK ({rows})"
                )
            )


_POLICIES: Final = text(
    "SELECT policyname FROM pg_policies WHERE schemaname = current_schema() AND tablename = :table"
)


def _is_apart_by_grant(connection: Connection) -> bool:
    """Whether a grant says if its rights are had at once; before PostgreSQL 16 the user does."""
    return (connection.dialect.server_version_info or (0,)) >= (16,)


def _is(connection: Connection, role: str) -> bool:
    found = text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
    return bool(connection.scalar(found, {"role": role}))


def _is_member(connection: Connection, login: str, role: str) -> bool:
    member = text("SELECT pg_has_role(:login, :role, 'MEMBER')")
    return bool(connection.scalar(member, {"login": login, "role": role}))


def _of_login(connection: Connection, roles: Roles) -> Iterator[str]:
    one = connection.execute(
        text(
            "SELECT quote_ident(rolname) AS name, rolsuper, rolbypassrls,"
            " pg_has_role(rolname, :service, 'MEMBER')"
            " AND pg_has_role(rolname, :across, 'MEMBER') AS is_member,"
            " pg_has_role(rolname, :service, 'USAGE')"
            " OR pg_has_role(rolname, :across, 'USAGE') AS has_at_once,"
            " EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(:table)"
            " AND pg_has_role(rolname, relowner, 'MEMBER')) AS is_owner"
            " FROM pg_roles WHERE rolname = session_user"
        ),
        {"service": roles.service, "across": roles.across, "table": workspaces.name},
    ).one()
    if one.rolsuper or one.rolbypassrls:
        yield (
            "the user of QUERIES_DATABASE_URL is a superuser or passes row-level security by: name"
            " another user there, and this one in QUERIES_MIGRATION_URL"
        )
    elif one.is_owner:
        yield (
            "the user of QUERIES_DATABASE_URL owns the tables, and so could take the wall down:"
            " name another user there, and this one in QUERIES_MIGRATION_URL"
        )
    elif one.has_at_once:
        mended = (
            f"GRANT {roles.service}, {roles.across} TO {one.name} WITH INHERIT FALSE"
            if _is_apart_by_grant(connection)
            else f"ALTER ROLE {one.name} NOINHERIT"
        )
        yield (
            "the user of QUERIES_DATABASE_URL has the rights of both roles at once, and so sees all"
            f" where a pooler drops the role that it is to act in: run `{mended}`"
        )
    if not one.is_member:
        yield (
            f"the user of QUERIES_DATABASE_URL has not both roles, {roles.service} and"
            f" {roles.across}: run `queries init`"
        )


def _of_roles(connection: Connection, roles: Roles) -> Iterator[str]:
    strong = text(
        "SELECT rolname FROM pg_roles WHERE rolname IN (:service, :across)"
        " AND (rolsuper OR rolbypassrls) ORDER BY rolname"
    )
    names = {"service": roles.service, "across": roles.across}
    for role in connection.scalars(strong, names):
        yield (
            f"the role {role} passes row-level security by: run"
            f" `ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS`"
        )
    # Whatever it is: a table's owner, or a role with a policy of its own, may see all.
    others = text(
        "SELECT quote_ident(r.rolname) FROM pg_auth_members AS m JOIN pg_roles AS r"
        " ON r.oid = m.roleid WHERE m.member = CAST(:service AS regrole) ORDER BY r.rolname"
    )
    for other in connection.scalars(others, {"service": roles.service}):
        yield (
            f"the role {roles.service} has the rights of {other}: run"
            f" `REVOKE {other} FROM {roles.service}`"
        )


def _of_rights(connection: Connection, roles: Roles) -> Iterator[str]:
    """Tell the rights that a role lacks, as after a restore, and those by which it could empty
    a table, which row-level security does not ask about.
    """
    wanted = [
        (role, table.name, right)
        for table in metadata.sorted_tables
        for role, rights in _rights(roles, table)
        for right in rights.split(", ")
    ]
    wanted.append((roles.across, _VERSIONS, "SELECT"))
    refused = [
        (role, table.name, right)
        for table in metadata.sorted_tables
        for role in (roles.service, roles.across)
        for right in ("TRUNCATE", "TRIGGER")
    ]
    lacking = sorted({table for _, table in _held(connection, wanted, is_held=False)})
    for table in lacking:
        yield f"the roles lack rights in the table {table}: run `queries init`"
    for role, table in sorted(set(_held(connection, refused, is_held=True))):
        yield (
            f"the role {role} could empty the table {table}, whosever its rows are: run"
            f" `REVOKE TRUNCATE, TRIGGER ON {table} FROM {role}, PUBLIC`"
        )


def _held(
    connection: Connection, rights: list[tuple[str, str, str]], *, is_held: bool
) -> list[tuple[str, str]]:
    """Return the role and the table of those rights that are held, or are not; of tables there."""
    asked = text(
        "SELECT o.role, o.name FROM unnest(CAST(:roles AS text[]), CAST(:tables AS text[]),"
        " CAST(:rights AS text[])) AS o (role, name, power)"
        " WHERE has_table_privilege(o.role, to_regclass(o.name), o.power) = :is_held"
    )
    given = [list(one) for one in zip(*rights, strict=True)]
    values = dict(zip(("roles", "tables", "rights"), given, strict=True))
    found = connection.execute(asked, values | {"is_held": is_held})
    return [(str(role), str(table)) for role, table in found]


def _unguarded(connection: Connection, roles: Roles) -> list[str]:
    """Return the tables where the service may see what is another workspace's."""
    rows = connection.execute(
        text(
            "SELECT c.relname FROM pg_class AS c"
            " WHERE c.relnamespace = CAST(current_schema() AS regnamespace)"
            " AND c.relname = ANY(:tables)"
            " AND (NOT c.relrowsecurity OR 1 <> ("
            " SELECT count(*) FROM pg_policies AS p WHERE p.schemaname = current_schema()"
            " AND p.tablename = c.relname AND p.permissive = 'PERMISSIVE'"
            " AND p.roles && ARRAY['public', :service]::name[]) OR 1 <> ("
            " SELECT count(*) FROM pg_policies AS p WHERE p.schemaname = current_schema()"
            " AND p.tablename = c.relname AND p.policyname = :service"
            " AND p.roles = ARRAY[:service]::name[]"
            " AND regexp_replace(p.qual, '[()[:space:]]|::text', '', 'g') ="
            " CASE c.relname WHEN :workspaces THEN 'id' ELSE 'workspace_id' END || :comparison"
            " AND p.with_check = p.qual))"
            " ORDER BY c.relname"
        ),
        {
            "tables": [table.name for table in metadata.sorted_tables if workspace_column(table)],
            "service": roles.service,
            "workspaces": workspaces.name,
            # As the server tells the policy that we made, without its brackets and casts.
            "comparison": f"=current_setting'{WORKSPACE_VARIABLE}',true",
        },
    )
    return list(rows.scalars())
