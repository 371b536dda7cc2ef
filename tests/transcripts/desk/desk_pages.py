"""Ways to open the desk and act at it over HTTP in tests."""

import re
from uuid import uuid4

from django.urls import reverse


def address(name, interview, *more):
    return reverse(f"desk:{name}", args=[interview.study.slug, interview.pk, *more])


def post(client, name, interview, **fields):
    """A plain form, as a browser without JavaScript sends it."""
    return client.post(address(name, interview), fields)


def act(client, name, interview, by, **fields):
    """The same fields as the page's script sends them."""
    return client.post(address(name, interview), {"idempotency_key": uuid4(), **fields}, headers={"X-Desk": str(by.pk)})


def read(response):
    """The page without what differs on every request."""
    html = response.content.decode()
    html = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html)
    return re.sub(r"X-CSRFToken[^}]*}", "", html)
