"""What was refused is said in the same words on a page, by the API and by a command."""

import pytest
from django.core.management.base import CommandError

from auditapp.api.errors import explain
from transcripts.refusals import Refused
from transcripts.ui.commands import ActCommand


@pytest.mark.parametrize(
    ("refused", "status", "code", "fields"),
    [
        (Refused("Too long.", field="name"), 422, "invalid_fields", {"name": ["Too long."]}),
        (Refused("It has ended."), 409, "conflict", None),
        (Refused("It has ended.", field="cap", status=409), 409, "conflict", None),
    ],
)
def test_the_api_answers_with_sentence_field_and_status(refused, status, code, fields):
    said = explain(refused)
    assert said is not None
    assert (said.status, said.code, said.message, said.fields) == (status, code, str(refused), fields)


def test_a_command_ends_with_the_sentence_of_a_refusal():
    class Command(ActCommand):
        def handle(self, *args, **options):
            raise Refused("It has ended.")

    with pytest.raises(CommandError, match=r"^It has ended\.$"):
        Command(no_color=True).execute(
            verbosity=1, settings=None, pythonpath=None, skip_checks=True, force_color=False, no_color=True
        )
