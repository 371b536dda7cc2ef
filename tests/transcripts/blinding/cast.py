"""The notice that others' labels are hidden, as a person meets it on a page."""

import lxml.html


def find_form(page):
    """What the notice on a page would send: ``action`` and the hidden fields; ``None`` where nothing is hidden."""
    tree = lxml.html.document_fromstring(page)
    forms = [form for form in tree.forms if (form.action or "").endswith("/unblind/")]
    if not forms:
        return None
    [form] = forms
    return {"action": form.action, "token": form.fields["token"]}


def unblind_on(client, path, *, confirmed=True):
    """Open a page, and unblind what its notice offers."""
    form = find_form(client.get(path).content.decode())
    assert form is not None, f"Nothing is offered on {path}."
    data = {"token": form["token"]} | ({"confirmed": "on"} if confirmed else {})
    return client.post(form["action"], data)
