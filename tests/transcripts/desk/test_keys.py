"""Which key does what, and how people change it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import DeskSettings
from transcripts.desk import keys
from transcripts.desk.keys import (
    ACTS,
    CAPS,
    CONSOLE,
    KeysRefused,
    find_key,
    read_choices,
    resolve_console,
    resolve_keys,
)

BALANCE = ("theme.balance", "Balance", "d")
TASK = ("feature.task", "Task", "1")
NAMELESS = ("failure.talk", "Fairness talk", "")
CODES = [BALANCE, TASK, NAMELESS]


def choose(**given):
    named = {("code:" if "." in name else "act:") + name: key for name, key in given.items()}
    return read_choices(named, CODES, {})


def test_everything_has_the_key_it_comes_with():
    keymap, clashes = resolve_keys(CODES, {})
    assert keymap["acts"] == {name: act.key for name, act in ACTS.items()}
    assert keymap["codes"] == {"theme.balance": "KeyD", "feature.task": "Digit1", "failure.talk": ""}
    assert clashes == []


def test_no_two_acts_come_with_one_key():
    keys = [act.key for act in ACTS.values()]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= set(CAPS)


def test_desk_key_goes_before_a_codes_and_the_card_says_so():
    keymap, clashes = resolve_keys([("theme.new", "New theme", "c")], {})
    assert keymap["codes"] == {"theme.new": ""}
    assert keymap["acts"]["split"] == "KeyC"
    assert clashes == [("New theme", "c", ACTS["split"].words)]


def test_code_takes_the_key_of_an_act_that_is_switched_off():
    keymap, clashes = resolve_keys([("theme.new", "New theme", "c")], choose(split=""))
    assert keymap["acts"]["split"] == ""
    assert keymap["codes"] == {"theme.new": "KeyC"}
    assert clashes == []


def test_own_choice_goes_before_the_codebook():
    chosen = choose(**{"failure.talk": "KeyD", "theme.balance": ""})
    keymap, _ = resolve_keys(CODES, chosen)
    assert keymap["codes"] == {"theme.balance": "", "feature.task": "Digit1", "failure.talk": "KeyD"}
    newer = [*CODES, ("theme.later", "Later", "d")]
    keymap, clashes = resolve_keys(newer, chosen)
    assert keymap["codes"]["theme.later"] == ""
    assert clashes == [("Later", "d", "Fairness talk")]


def test_key_that_somebody_gave_a_code_stays_with_it_when_a_new_act_comes_to_the_desk():
    keymap, clashes = resolve_keys(CODES, {"codes": {"theme.balance": "Backslash"}})
    assert keymap["codes"]["theme.balance"] == "Backslash"
    assert keymap["acts"]["scores"] == ""
    assert clashes == [(ACTS["scores"].words, "\\", "Balance")]


def test_key_that_somebody_gave_an_act_stays_with_it_when_a_new_act_comes_to_the_desk():
    keymap, clashes = resolve_keys(CODES, {"acts": {"memo": "Quote"}})
    assert (keymap["acts"]["memo"], keymap["acts"]["evidence"]) == ("Quote", "")
    assert clashes == [(ACTS["evidence"].words, "'", ACTS["memo"].words)]


def test_key_of_a_code_can_go_to_an_act():
    chosen = choose(memo="KeyD", **{"theme.balance": ""})
    assert chosen == {"acts": {"memo": "KeyD"}, "codes": {}}
    keymap, clashes = resolve_keys(CODES, chosen)
    assert (keymap["acts"]["memo"], keymap["codes"]["theme.balance"]) == ("KeyD", "")
    assert clashes == [("Balance", "d", "memo on the sentence")]


def test_only_what_differs_is_kept():
    assert choose(memo="KeyM", **{"theme.balance": "KeyD"}) == {"acts": {}, "codes": {}}
    assert choose(memo="") == {"acts": {"memo": ""}, "codes": {}}


def test_choices_for_codes_of_other_studies_stay():
    before = {"codes": {"elsewhere": "KeyU", "theme.balance": "KeyY"}}
    assert read_choices({}, CODES, before) == {"acts": {}, "codes": {"elsewhere": "KeyU", "theme.balance": "KeyY"}}
    assert read_choices({"code:theme.balance": "KeyD"}, CODES, before)["codes"] == {"elsewhere": "KeyU"}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"memo": "KeyX"}, "x is used twice"),
        ({"memo": "KeyD"}, "“memo on the sentence” and for “Balance”"),
        ({"theme.balance": "Digit1"}, "1 is used twice: for “Balance” and for “Task”"),
        ({"theme.balance": "KeyM"}, "m is used twice"),
        ({"memo": "mm"}, "The key for “memo on the sentence” is not valid"),
        ({"theme.balance": "Enter"}, "The key for “Balance” is not valid"),
        ({"theme.balance": "<img>"}, "The key for “Balance” is not valid"),
    ],
)
def test_two_acts_on_one_key_and_keys_that_are_none_are_refused(names, words):
    with pytest.raises(KeysRefused, match=words) as refused:
        choose(**names)
    assert refused.value.fields


@given(
    st.dictionaries(st.sampled_from([*ACTS, *(identifier for identifier, _, _ in CODES)]), st.sampled_from(["", *CAPS]))
)
def test_whatever_is_chosen_no_key_does_two_things(names):
    try:
        chosen = choose(**names)
    except KeysRefused:
        return
    keymap, _ = resolve_keys(CODES, chosen)
    keys = [key for key in (*keymap["acts"].values(), *keymap["codes"].values()) if key]
    assert len(set(keys)) == len(keys)
    for name, key in names.items():
        assert {**keymap["acts"], **keymap["codes"]}[name] == key


def test_keys_are_found_by_what_they_print():
    assert [find_key(typed) for typed in ("m", "M", " [ ", "enter", "↓", "pgdn", "KeyQ", "", "nonsense")] == [
        "KeyM",
        "KeyM",
        "BracketLeft",
        "Enter",
        "ArrowDown",
        "PageDown",
        "KeyQ",
        "",
        "nonsense",
    ]
    assert find_key("/") == "Slash"
    assert find_key("/", default="sign:/") == "sign:/"


def test_page_knows_every_act_and_no_other():
    script = (Path(__file__).resolve().parents[3] / "static/js/desk/keys.js").read_text()
    [table] = re.findall(r"const acts = \{(.*?)^\};", script, re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"^  (\w+):", table, re.MULTILINE)) == set(ACTS)


def test_page_of_interviews_held_here_knows_every_act_and_no_other():
    script = (Path(__file__).resolve().parents[3] / "static/js/console.js").read_text()
    [kinds] = re.findall(r"const KINDS = \[(.*?)\];", script)
    [table] = re.findall(r"const acts = \{(.*?)^\};", script, re.DOTALL | re.MULTILINE)
    assert {*re.findall(r'"(\w+)"', kinds), *re.findall(r"^  (\w+):", table, re.MULTILINE)} == set(CONSOLE)


def test_one_key_may_do_one_thing_where_interviews_are_held_and_another_at_the_desk():
    chosen = read_choices({"console:branch": "KeyM", "console:again": ""}, CODES, {})
    assert chosen["console"] == {"branch": "KeyM", "again": ""}
    keys = resolve_console(chosen)
    assert (keys["branch"], keys["again"], keys["bank"]) == ("KeyM", "", "sign:/")
    assert resolve_keys(CODES, chosen)[0]["acts"]["memo"] == "KeyM"
    assert resolve_console({}) == {name: act.key for name, act in CONSOLE.items()}
    assert len({act.key for act in CONSOLE.values()}) == len(CONSOLE)


@pytest.mark.parametrize(
    ("given", "words"),
    [({"console:branch": "KeyT"}, "t is used twice"), ({"console:bank": "nonsense"}, "is not valid")],
)
def test_two_acts_on_one_key_are_refused_where_interviews_are_held(given, words):
    with pytest.raises(KeysRefused, match=words):
        read_choices(given, CODES, {})


def test_keys_of_the_desk_leave_those_of_interviews_held_here_as_they_are():
    before = {"console": {"branch": "KeyM"}}
    assert read_choices({"act:memo": "Digit0"}, CODES, before)["console"] == {"branch": "KeyM"}
    assert resolve_console({"console": {"branch": "KeyA"}})["again"] == "", "what she chose goes before a default"


def test_keys_follow_the_person_and_leave_an_event(coder):
    keys.set_keys(given={"act:memo": "Digit0", "act:split": ""}, codes=CODES, by=coder)
    settings = DeskSettings.objects.get(user=coder)
    assert settings.keys == {"acts": {"memo": "Digit0", "split": ""}, "codes": {}}
    event = AuditEvent.objects.latest("pk")
    assert (event.stream, event.action, event.actor_name) == ("site", "coding.keys.set", "coder")
    assert event.details == {"chosen": 2, "off": 1}
    keys.set_keys(given={"act:memo": "Digit0"}, codes=CODES, by=coder)
    assert AuditEvent.objects.latest("pk") == event


def test_keys_can_all_be_reset(coder):
    keys.set_keys(given={"act:memo": "Digit0"}, codes=CODES, by=coder)
    keys.reset_keys(by=coder)
    assert DeskSettings.objects.get(user=coder).keys == {}
    events = AuditEvent.objects.count()
    keys.reset_keys(by=coder)
    assert AuditEvent.objects.count() == events
