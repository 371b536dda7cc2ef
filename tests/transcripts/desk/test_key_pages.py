"""The pages of keys: one's own, and the card."""

import re
from html import unescape

import pytest
from django.urls import reverse

from tests.transcripts.desk.desk_pages import address, read
from transcripts.codebook.models import Code
from transcripts.coding.models import DeskSettings
from transcripts.desk.keys import ACTS


def page(study, name="keys"):
    return reverse(f"desk:{name}", args=[study.slug])


def value(html, name):
    [found] = re.findall(rf'name="{re.escape(name)}" value="([^"]*)"', html)
    return str(found)


def test_every_act_and_code_has_a_field_with_its_key(study, coder, client_of):
    html = read(client_of(coder).get(page(study)))
    for name in ACTS:
        assert f'name="act:{name}"' in html
    assert value(html, "act:memo") == "m"
    assert value(html, "act:down") == "↓"
    assert value(html, "code:theme.balance") == "d"


def test_changed_keys_are_shown_everywhere(study, interview, coder, client_of):
    client = client_of(coder)
    sent = {"act:memo": "Equal", "act:challenges": "", "act:split": "", "code:theme.balance": "b", "act:merge": ""}
    assert client.post(page(study), sent).status_code == 302
    html = read(client.get(page(study)))
    assert [value(html, name) for name in sent] == ["=", "", "", "b", ""]
    assert "default: d" in html
    card = read(client.get(page(study, "keycard")))
    assert '<kbd data-key="Equal">=</kbd></dt><dd>memo on the sentence' in card
    assert '<kbd data-key="KeyB">b</kbd></dt><dd>Balance' in card
    assert "no key</span></dt><dd>split this sentence" in card
    desk = read(client.get(address("desk", interview)))
    assert '"memo": "Equal"' in desk
    assert '"theme.balance": "KeyB"' in desk


def test_two_acts_on_one_key_are_refused_beside_their_fields(study, coder, client_of):
    response = client_of(coder).post(page(study), {"act:memo": "x", "code:theme.balance": "zz"})
    html = response.content.decode()
    assert response.status_code == 422
    assert "Nothing was saved" in html
    assert value(html, "code:theme.balance") == "zz"
    assert html.count('aria-invalid="true"') >= 1
    assert not DeskSettings.objects.exists()


def test_reset_gives_every_key_back(study, coder, client_of):
    client = client_of(coder)
    client.post(page(study), {"act:memo": "="})
    client.post(page(study), {"act:memo": "x", "reset": "1"})
    assert value(read(client.get(page(study))), "act:memo") == "m"


def test_saving_the_page_as_it_stands_changes_nothing(study, coder, client_of):
    client = client_of(coder)
    html = read(client.get(page(study)))
    fields = dict(re.findall(r'name="((?:act|code):[^"]+)" value="([^"]*)"', html))
    fields = {name: unescape(value) for name, value in fields.items()}
    assert client.post(page(study), fields).status_code == 302
    assert DeskSettings.objects.get(user=coder).keys == {"acts": {}, "codes": {}}


def test_keys_are_ones_own(study, coder, second_coder, client_of):
    client_of(coder).post(page(study), {"act:memo": "="})
    assert value(read(client_of(second_coder).get(page(study))), "act:memo") == "m"


def test_desk_key_wins_over_a_codes_and_every_page_says_so(study, interview, coder, client_of):
    Code.objects.filter(version__study=study, identifier="failure.generic_fairness_talk").update(key="c")
    client = client_of(coder)
    for path in (page(study), page(study, "keycard"), address("desk", interview)):
        html = read(client.get(path))
        assert "has no key, because <kbd>c</kbd> is used for “split this sentence" in html, path


def test_card_has_definitions_when_asked(study, reader, client_of):
    client = client_of(reader)
    definition = Code.objects.get(version__study=study, identifier="theme.balance").definition
    assert definition not in client.get(page(study, "keycard")).content.decode()
    assert definition in client.get(page(study, "keycard"), {"definitions": "1"}).content.decode()


@pytest.mark.parametrize("typed", ["<script>", "KeyÄ", "Tab", "Escape", "ß", "9" * 500])
def test_only_keys_of_the_table_are_taken(study, coder, client_of, typed):
    assert client_of(coder).post(page(study), {"act:memo": typed}).status_code == 422
