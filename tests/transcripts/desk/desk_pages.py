"""Ways to open the desk and act at it over HTTP in tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

from django.test import Client
from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.corpus.models import Interview

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response

ClientOf = Callable[[User], Client]


def address(name: str, interview: Interview, *more: object) -> str:
    return reverse(f"desk:{name}", args=[interview.study.slug, interview.pk, *more])


def post(client: Client, name: str, interview: Interview, **fields: object) -> Response:
    """A plain form, as a browser without JavaScript sends it."""
    return client.post(address(name, interview), fields)


def act(client: Client, name: str, interview: Interview, by: User, **fields: object) -> Response:
    """The same fields as the page's script sends them."""
    return client.post(address(name, interview), {"idempotency_key": uuid4(), **fields}, headers={"X-Desk": str(by.pk)})


def read(response: Response) -> str:
    """The page without what differs on every request."""
    html = response.content.decode()
    html = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html)
    return re.sub(r"X-CSRFToken[^}]*}", "", html)
