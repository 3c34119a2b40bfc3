"""A person before the pages, without a browser: what they see, and what they send from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from html import unescape

from httpx2 import Response

from queries_orchestration_tests.web.site import PUBLIC_URL, Site

SAME_ORIGIN = {"Origin": PUBLIC_URL, "Sec-Fetch-Site": "same-origin"}


@dataclass
class Visit:
    """Somebody who looks at pages; ``cookie`` is what their browser holds."""

    site: Site
    cookie: str = field(default="", repr=False)
    person: str = ""

    def sign_in(self, person: str, *, workspace: str = "acme") -> Visit:
        """Sign in by the form."""
        self.person = person
        token = self.site.token(person, workspace=workspace)
        answer = self.site.client.post("/sign-in", data={"token": token}, headers=SAME_ORIGIN)
        assert answer.status_code == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def deliver(self, at: datetime) -> None:
        """Deliver what is due, and sign in again, as that may be days later."""
        self.site.house.deliver(at)
        self.sign_in(self.person)

    def get(self, path: str, **headers: str) -> Response:
        """Look at a page."""
        return self.site.client.get(path, headers={"Cookie": self.cookie} | headers)

    def send(self, page: str, action: str, **fields: str | list[str]) -> Response:
        """Send the form of a page that leads to ``action``, with all that is hidden in it."""
        return self.site.client.post(
            action,
            data=self.hidden(page, action) | fields,
            headers={"Cookie": self.cookie} | SAME_ORIGIN,
        )

    def hidden(self, page: str, action: str) -> dict[str, str]:
        """The hidden fields of a form of a page."""
        html = self.get(page).text
        form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', html, re.S)
        assert form is not None, f"{page} has no form that leads to {action}"
        found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[0])
        return {name: unescape(value) for name, value in found}
