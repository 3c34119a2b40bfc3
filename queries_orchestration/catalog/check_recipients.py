"""Check whom schedules name as recipients: references, allowed domains, nobody twice."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from queries_orchestration.catalog.declared import DeclaredAddress, DeclaredRecipient
from queries_orchestration.catalog.names import Names
from queries_orchestration.catalog.plan import ListedRecipient
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.model.addresses import domain_of, mailbox_key
from queries_orchestration.model.errors import InvalidAddress
from queries_orchestration.model.ids import new_id
from queries_orchestration.store.groups import Group
from queries_orchestration.store.outside_addresses import OutsideAddress
from queries_orchestration.store.people import Person
from queries_orchestration.store.recipients import NamedRecipient
from queries_orchestration.store.workspaces import Workspace


class RecipientCheck:
    """Checks the recipients of one workspace as its other rows will be after the apply.

    One mailbox is one outside address, in whatever schedule and spelling it stands.

    With ``is_guarded``, who asks may not see all: no address is told whose it is, and one that is
    known keeps its name, which other people's schedules have, too.
    """

    def __init__(
        self,
        *,
        shape: Shape,
        workspace: Workspace,
        people: Names[Person],
        groups: Names[Group],
        outside: Iterable[OutsideAddress],
        is_guarded: bool = False,
    ) -> None:
        self._shape = shape
        self._is_guarded = is_guarded
        self._workspace = workspace
        self._domains = frozenset(workspace.allowed_domains or ())
        self._people = people
        self._groups = groups
        stored = list(outside)
        self._by_id = {one.id: one for one in stored}
        self._by_mailbox = {one.mailbox: one for one in stored if one.mailbox is not None}
        self._named: dict[str, Node] = {}
        self._people_by_mailbox: dict[str, Person] | None = None

    def changed(self) -> list[OutsideAddress]:
        """Return the outside addresses that are new or have another name now."""
        return [one for one in self._by_mailbox.values() if self._by_id.get(one.id) != one]

    def listed(self, named: Iterable[NamedRecipient]) -> tuple[ListedRecipient, ...]:
        """Return the recipients that a schedule has now."""
        return tuple(ListedRecipient(one.kind, one.id, self._stored_title(one.id)) for one in named)

    def check(
        self, declared: Iterable[DeclaredRecipient], what: str
    ) -> tuple[ListedRecipient, ...]:
        """Return the recipients that a definition makes; its faults are kept."""
        found: list[ListedRecipient] = []
        for one in declared:
            recipient = self._find(one, f"{what}, recipients")
            if recipient is None:
                continue
            if any((other.kind, other.id) == (recipient.kind, recipient.id) for other in found):
                # An address is not repeated.
                name = one.person or one.group
                who = f"`{name}`" if name else "this address"
                self._shape.fault(one.at, f"{what}: {who} is among its recipients twice")
                continue
            found.append(recipient)
        return tuple(found)

    def _find(self, declared: DeclaredRecipient, what: str) -> ListedRecipient | None:
        if declared.outside is not None:
            outside = self._outside(declared.outside, declared.at, what)
            if outside is None:
                return None
            title = declared.outside.title or self._stored_title(outside.id)
            return ListedRecipient("outside", outside.id, title)
        if declared.known:
            return self._known(declared.known, declared.at, what)
        if declared.group:
            group = self._groups.find(declared.group, declared.at, what, self._shape)
            return ListedRecipient("group", group.id) if group is not None else None
        person = self._people.find(declared.person, declared.at, what, self._shape)
        return ListedRecipient("person", person.id) if person is not None else None

    def _known(self, outside_id: str, at: Node, what: str) -> ListedRecipient | None:
        known = self._by_id.get(outside_id)
        if known is None or known.address is None:
            self._shape.fault(at, f"{what}: there is no outside address of this id")
            return None
        outside = self._outside(DeclaredAddress(address=known.address, title=None), at, what)
        return None if outside is None else ListedRecipient("outside", outside.id, known.title)

    def _outside(self, declared: DeclaredAddress, at: Node, what: str) -> OutsideAddress | None:
        mailbox = mailbox_key(declared.address)
        is_allowed = domain_of(declared.address) in self._domains
        person = self._person_with(mailbox) if is_allowed or not self._is_guarded else None
        if person is not None:
            whose = "somebody here" if self._is_guarded else f"the person `{person.name}`"
            self._shape.fault(at, f"{what}: this is the address of {whose}: name them")
            return None
        if not is_allowed:
            self._shape.fault(
                at,
                f"{what}: addresses of this domain are not allowed here: take it into"
                " `allowed_domains` of the workspace, or the address out",
            )
            return None
        known = self._by_mailbox.get(mailbox) or OutsideAddress(
            workspace_id=self._workspace.id,
            id=new_id(),
            address=declared.address,
            mailbox=mailbox,
            title=None,
        )
        if declared.title is not None and not (self._is_guarded and mailbox in self._by_mailbox):
            first = self._named.setdefault(mailbox, at)
            if first is not at and declared.title != known.title:
                self._shape.fault(at, f"{what}: this address has another name at {first.place}")
            known = replace(known, title=declared.title)
        self._by_mailbox[mailbox] = known
        return known

    def _person_with(self, mailbox: str) -> Person | None:
        if self._people_by_mailbox is None:
            self._people_by_mailbox = {}
            for person in self._people.all_after():
                # One that was stored otherwise, or by other rules, is nobody's mailbox.
                with suppress(InvalidAddress):
                    if person.address is not None:
                        self._people_by_mailbox[mailbox_key(person.address)] = person
        return self._people_by_mailbox.get(mailbox)

    def _stored_title(self, recipient_id: str) -> str | None:
        stored = self._by_id.get(recipient_id)
        return None if stored is None else stored.title
