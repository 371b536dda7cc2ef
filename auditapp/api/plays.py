"""Interviews that are held here, to be read; ``holding`` has what is done in them."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.outputs import RowOutput
from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ProjectView, find_row, list_columns
from auditapp.scenarios.models import Play
from auditapp.scenarios.pure.answers import LABELS
from auditapp.scenarios.queries.plays import visible_plays
from auditapp.scenarios.queries.talks import Exchange, read_talk
from transcripts.blinding.viewers import Viewer

# The schema gives enums names of their own.
PLAY_MODES, PLAY_STATES = Play.Mode.choices, Play.State.choices
QUESTION_STATES = list(LABELS.items())


class PlayOutput(RowOutput):
    """An interview that is held here, or was."""

    questions = serializers.IntegerField(source="asked", help_text="Questions asked in it, without those it shares.")

    class Meta:
        ref_name = "Play"
        model = Play
        fields = (
            "id name script script_number mode state opening surface model model_as_shown vendor tier branch_of after "
            "batch interview questions opened_at opened_by"
        )
        paths: ClassVar = {
            "name": "label",
            "script": ("script__name", "Name of the script it is held by."),
            "script_number": ("script__number", "Which number of the script."),
            "model": ("arm__variant__label", "Label of the model asked; null where it is recorded."),
            "after": "after_position",
            "batch": ("arm__batch", "Number of the batch of its calls; null where it is recorded."),
            "interview": ("interview", "Number of the interview that it became, if any."),
            "opened_by": "opened_by_name",
        }


class QuestionOutput(serializers.Serializer[Any]):
    """A question of an interview that is held here, with what became of it."""

    number = serializers.IntegerField(help_text="Its number in the talk, from 1.")
    is_shared = serializers.BooleanField(help_text="Whether it was asked in the play that this one branches off.")
    kind = serializers.CharField(help_text="How much it directs the model.")
    intent = serializers.CharField(help_text="What a challenge was meant to be; empty for others, and for coders.")
    text = serializers.CharField(help_text="The question as it was sent.")
    state = serializers.ChoiceField(QUESTION_STATES, help_text="What became of it.")
    answer = serializers.CharField(help_text="What the model answered, as stored; empty for none.")
    finish_reason = serializers.CharField(help_text="Why the model stopped, in the provider's word.")
    served_model = serializers.CharField(help_text="The model that answered, as the provider names it.")
    calls = serializers.IntegerField(help_text="How often it was sent.")
    possibly_paid_twice = serializers.IntegerField(help_text="Calls that may have been paid for without use.")

    class Meta:
        ref_name = "PlayQuestion"


class PlayView(ProjectView):
    """What these operations share."""

    @property
    def viewer(self) -> Viewer:
        """The person, and what she may see."""
        return Viewer(self.project, self.person, self.role)

    def find_play(self, play_id: int) -> Play:
        """An interview that the person may see from within. Raises ``Http404``."""
        plays = visible_plays(self.viewer).select_related("project", "arm__batch")
        play: Play = find_row(plays, play_id, "interview held here")
        return play

    def describe_question(self, each: Exchange) -> dict[str, Any]:
        """A question as the person may see it, for output."""
        return {
            "number": each.number,
            "is_shared": each.is_shared,
            "kind": each.question.kind,
            "intent": each.question.intent if self.viewer.sees_all else "",
            "text": each.question.text,
            "state": each.state,
            "answer": each.answer,
            "finish_reason": each.counting.finish_reason if each.counting else "",
            "served_model": each.counting.served_model if each.counting else "",
            "calls": each.calls,
            "possibly_paid_twice": each.possibly_paid_twice,
        }


class ListPlays(PlayView):
    """The interviews held here that you may see from within, the latest first: those you held, those whose interview you have
    unblinded, and all of them if you do not code."""

    class Query(PageParameters):
        """Which of them to return."""

    Output = PlayOutput
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(visible_plays(self.viewer).values(*list_columns(PlayOutput)))


class ReadTalk(PlayView):
    """What was said in an interview that is held here, question by question. One that is closed to you is not there."""

    class Query(PageParameters):
        """Which questions to return."""

    Output = QuestionOutput
    pagination_class = Pages

    def get(self, request: Request, slug: str, play_id: int) -> Response:
        return self.answer_page([self.describe_question(each) for each in read_talk(self.find_play(play_id))])
