"""As whom we work on PostgreSQL: two roles, whose rights and policies ``wall`` makes.

The address of the application database names them: with ``?roles=queries`` every connection acts
as ``queries_service``, which sees the rows of one workspace at a time, or as ``queries_across``,
which sees those of all. An address that names none works as the user it logs in, without the wall.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy import URL, make_url

from queries_orchestration.model.errors import InvalidSettings

WORKSPACE_VARIABLE: Final = "queries.workspace"
"""What a transaction of the service sets to the id of its workspace, and policies compare with."""
_PARAMETER: Final = "roles"
_NAME: Final = re.compile("[a-z][a-z0-9_]{0,49}")


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of the two roles: of the service within a workspace, and across workspaces."""

    service: str
    across: str


def roles_of(url: URL) -> tuple[URL, Roles | None]:
    """Return the address as the driver takes it, and the roles that it names.

    Raises:
        InvalidSettings: what it names cannot begin the name of a role.
    """
    given = url.query.get(_PARAMETER)
    if given is None or url.get_backend_name() == "sqlite":
        return url, None
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise InvalidSettings(
            "The roles in QUERIES_DATABASE_URL must be one word of small letters, digits and"
            " underscores, such as ?roles=queries."
        )
    bare = url.difference_update_query([_PARAMETER])
    return bare, Roles(service=f"{given}_service", across=f"{given}_across")


def without_roles(url: str) -> str:
    """Return the address for whoever makes the roles, as the user whom it logs in."""
    return roles_of(make_url(url))[0].render_as_string(hide_password=False)
