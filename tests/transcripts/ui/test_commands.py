"""What commands share."""

import argparse
from decimal import Decimal
from io import StringIO

import pytest
from django import forms
from django.core.management import load_command_class
from django.core.management.base import CommandError

from transcripts.accounts.models import User
from transcripts.codebook.models import CodeChange
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui import commands
from transcripts.ui.commands import (
    ActCommand,
    OneOf,
    arguments_of,
    find_row,
    pick,
    read_number,
    read_pairs,
    writing,
)


def test_a_row_is_found_by_its_name(owner):
    assert find_row(User.objects.all(), "user", username__iexact="OWNER") == owner


def test_a_name_that_is_not_there_is_told_with_those_that_are(owner, monkeypatch):
    users = User.objects.order_by("username")
    with pytest.raises(CommandError, match=r"^There is no user 'nobody'\. There are: owner\. Make one\.$"):
        find_row(users, "user", hint="Make one.", username="nobody")
    monkeypatch.setattr(commands, "MAX_NAMED", 1)
    User.objects.create(username="second")
    with pytest.raises(CommandError, match=r"^There is no user 'nobody'\. There are: owner, …\.$"):
        find_row(users, "user", username="nobody")
    with pytest.raises(CommandError, match=r"^There is no user 9\. There are: none\.$"):
        find_row(users.none(), "user", pk=9)


def parse(*taken, given):
    parser = argparse.ArgumentParser(exit_on_error=False)
    for each in taken:
        each.add(parser)
    return parser.parse_args(given.split())


def test_an_argument_that_differs_in_something_leaves_the_usual_one_as_it_is():
    assert parse(commands.SEED.but(default=7), given="").seed == 7
    assert parse(commands.SEED, given="").seed == 1
    with pytest.raises(argparse.ArgumentError):
        parse(OneOf(commands.SEED, commands.DRY_RUN), given="--seed 3 --dry-run")


class Chosen(forms.Form):
    """A form with a field of each kind."""

    colour = forms.ChoiceField(choices=[("", "any"), ("red", "Red")], required=False)
    many_things = forms.IntegerField(initial=3, help_text="In 100 % of cases.", label="Things")
    share = forms.FloatField(required=False)
    title = forms.CharField()
    sure = forms.BooleanField(required=False)


def test_fields_of_a_form_are_arguments_with_their_choices_defaults_and_words():
    taken = arguments_of(Chosen, "colour many_things share title sure")
    found = parse(*taken, given="--title x --colour red --share 0.5")
    assert vars(found) == {"colour": "red", "many_things": 3, "share": "0.5", "title": "x", "sure": False}
    assert parse(*taken, given="--title x").colour == ""
    for wrong in ("--title x --colour blue", "--title x --many-things few", ""):
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            parse(*taken, given=wrong)
    assert taken[1].how["help"] == "Things. In 100 %% of cases."


def test_fields_of_a_model_are_arguments_unless_a_command_says_otherwise():
    name, description = arguments_of(Study, "name description")
    assert name.how == {"help": "Name of the study.", "required": True}
    assert description.how == {"help": "What the study is about; may be empty.", "default": ""}
    [effect] = arguments_of(CodeChange, "effect", required=False)
    assert effect.how["choices"] == CodeChange.Effect.values
    assert not effect.how["required"]


def test_pairs_are_read_each_name_once():
    assert read_pairs("--x", ["a=b=c"], "is wrong") == {"a": "b=c"}
    assert read_pairs("--x", ["a=b=c"], "is wrong", last=True) == {"a=b": "c"}
    for given in (["a"], ["=a"], ["a="], ["a=1", "a=2"]):
        with pytest.raises(Refused, match=r"^--x 'a?=?[a2]?' is wrong\.$"):
            read_pairs("--x", given, "is wrong")


def test_a_number_is_read_or_refused_as_it_was_typed():
    assert read_number("0.10", "--price", "dollars") == Decimal("0.10")
    assert read_number(None, "--price", "dollars") is None
    for typed in ("0,1", "nan", ""):
        with pytest.raises(Refused, match=rf"^--price '{typed}' is not a number\. Write dollars\.$"):
            read_number(typed, "--price", "dollars")


def test_what_is_picked_is_named():
    assert pick({"a": 1, "b": 2, "c": 3}, "c a") == {"c": 3, "a": 1}
    assert pick(User(username="x"), "username is_active") == {"username": "x", "is_active": True}


def test_a_file_is_written_over_only_where_that_was_asked_for(tmp_path):
    command, file = ActCommand(stdout=StringIO(), stderr=StringIO()), tmp_path / "a.txt"
    for text, overwrite in (("first", False), ("second", True)):
        with writing(command, str(file), overwrite=overwrite) as path:
            path.write_text(text)
    with pytest.raises(Refused, match="already exists"), writing(command, str(file), overwrite=False) as path:
        path.write_text("third")
    assert file.read_text() == "second"
    gone = str(tmp_path / "gone" / "a.txt")
    with pytest.raises(Refused, match=r"a\.txt cannot be written: No such file"), writing(command, gone) as path:
        path.write_text("x")


def test_the_usage_of_a_noun_leads_to_its_verbs():
    parser = load_command_class("transcripts.studies", "user").create_parser("manage.py", "user")
    assert parser.format_usage() == "usage: manage.py user [options] VERB ...\n"
    [verbs] = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    assert verbs.choices["close"].prog == "manage.py user close"
