"""Texts: interviews and their sentences."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.db.models.functions import Substr
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ProjectView, find_row, list_columns
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.corpus.pure.markdown_lines import Kind


class ListInterviews(ProjectView):
    """The interviews of a study, in the order of import."""

    class Output(serializers.Serializer[Any]):
        """An interview in brief."""

        id = serializers.IntegerField(help_text="Its number on this site.")
        external_id = serializers.CharField(help_text="Its id in the file it came from.")
        title = serializers.CharField(help_text="Its title.")
        model = serializers.CharField(source="model_label", help_text="The model that answered; empty: unknown.")
        language = serializers.CharField(help_text="Language of the text, as a tag such as en; empty: unknown.")
        turns = serializers.IntegerField(source="turn_count", help_text="Number of turns.")
        sentences = serializers.IntegerField(source="sentence_count", help_text="Number of sentences.")
        questions = serializers.IntegerField(help_text="Number of questions the interviewer asked.")
        author_words = serializers.IntegerField(help_text="Words the interviewer wrote.")
        model_words = serializers.IntegerField(help_text="Words the model wrote.")

        class Meta:
            ref_name = "InterviewRow"

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(self.project.interviews.order_by("pk").values(*list_columns(self.Output)))


class ReadInterview(ProjectView):
    """One interview with everything known about its origin. Read its text as sentences."""

    class Output(ListInterviews.Output):
        """An interview in full; an empty text means unknown."""

        vendor = serializers.CharField(help_text="Who offers the model.")
        surface = serializers.CharField(help_text="Where the model was used, such as a site or an API.")
        period = serializers.CharField(help_text="When the interview was held.")
        interviewer = serializers.CharField(help_text="Who held the interview.")
        tier = serializers.CharField(help_text="The tier of access to the model.")
        inclusion = serializers.CharField(help_text="Whether the study includes it, in the study's own terms.")
        inclusion_reason = serializers.CharField(help_text="Why.")
        opening_prompt = serializers.CharField(help_text="The prompt that opened the interview.")
        segmenter = serializers.CharField(help_text="Name and version of the rules that divided it into sentences.")
        file = serializers.CharField(source="imported_file__name", help_text="The file it came from.")
        file_sha256 = serializers.CharField(source="imported_file__sha256", help_text="SHA-256 of that file.")
        metadata = serializers.JSONField(help_text="Anything else in that file: an object.")

        class Meta:
            ref_name = "Interview"

    def get(self, request: Request, slug: str, interview_id: int) -> Response:
        rows = self.project.interviews.values("pk", *list_columns(self.Output))
        return self.answer(find_row(rows, interview_id, "interview"))


class ListSentences(ProjectView):
    """The sentences of an interview, in order. The text is exact; offsets count code points in the turn's text."""

    class Output(serializers.Serializer[Any]):
        """A sentence, the unit of coding."""

        id = serializers.IntegerField(help_text="Its number on this site, which never changes.")
        turn = serializers.IntegerField(source="turn__position", help_text="Place of its turn in the interview.")
        position = serializers.IntegerField(help_text="Its place in the interview, from 1.")
        role = serializers.ChoiceField(Turn.Role.choices, source="turn__role", help_text="Who speaks.")
        channel = serializers.ChoiceField(
            Turn.Channel.choices,
            source="turn__channel",
            help_text="The channel; only utterances and reasoning are coded.",
        )
        start = serializers.IntegerField(help_text="Where it starts in the turn's text, in code points from 0.")
        end = serializers.IntegerField(help_text="Where it ends there: the first code point after it.")
        kind = serializers.ChoiceField([str(kind) for kind in Kind], help_text="The kind of text it is in.")
        text = serializers.CharField(help_text="The exact text of the sentence.")

        class Meta:
            ref_name = "Sentence"

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str, interview_id: int) -> Response:
        interview = find_row(Interview.objects.filter(project=self.project).only("pk"), interview_id, "interview")
        text = Substr("turn__text", F("start") + 1, F("end") - F("start"))
        sentences = (
            Sentence.objects.filter(turn__interview=interview, retired_by__isnull=True)
            .order_by("position", "start")
            .annotate(text=text)
        )
        return self.answer_page(sentences.values(*list_columns(self.Output)))
