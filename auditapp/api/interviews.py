"""Texts: interviews and their sentences."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Substr
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.fields import Choice, Moment, RowOutput
from auditapp.api.views import Cursor, CursorParameters, PageParameters, Pages, StudyView, find_row, list_columns
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import RUN_FACTS, Interview, InterviewChange, InterviewVersion, Relation, Sentence, Turn
from transcripts.corpus.models import Kind as ThreadKind
from transcripts.corpus.pure.markdown_lines import Kind
from transcripts.corpus.pure.segmenting import TOOL_KINDS
from transcripts.formats.interviews.threads import find_stage

# Named for the schema, which tells fields that are named alike apart.
TURN_ROLES = Turn.Role.choices
MAX_FACT = 500
CLOSED = "Whether it is a model's reasoning that is hidden from you, because you may code and have not opened it at the desk."
STAGES = [("front", "Said"), ("back", "Reasoning"), ("tool", "Calls and results of tools")]
# Told of each row after it was read.
DERIVED = ("closed", "stage")
SENTENCE_KINDS = [(str(kind), str(kind)) for kind in (*Kind, *TOOL_KINDS.values())]


class ListInterviews(StudyView):
    """The interviews of a study, in the order of import."""

    class Output(RowOutput):
        """A short description of an interview."""

        relation = serializers.ChoiceField(
            [("", "None"), *Relation.choices],
            help_text="How it continues from a turn of another interview; empty if it does not.",
        )

        class Meta:
            ref_name = "InterviewRow"
            model = Interview
            fields = (
                "id external_id title model language turns sentences questions author_words model_words kind relation "
                "hangs_on_interview hangs_on_turn mask_label unmasked_at"
            )
            paths: ClassVar = {
                "model": "model_label",
                "turns": "turn_count",
                "sentences": "sentence_count",
                "hangs_on_interview": "hangs_on__interview",
                "hangs_on_turn": "hangs_on__position",
            }

    class Query(PageParameters):
        """Which interviews to return."""

        kind = Choice(ThreadKind.values, required=False, help_text="Only interviews of this kind.")
        masked = Choice(
            ["true", "false"],
            required=False,
            help_text="true: only interviews that are masked now; false: only the others.",
        )
        file_sha256 = serializers.CharField(
            required=False, max_length=64, help_text="SHA-256 of a file: only interviews imported from it."
        )
        since = Moment(
            required=False,
            help_text="Only interviews that were imported, continued or corrected at this time or later, such as "
            "2026-11-24T10:00:00Z.",
        )

        def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
            facts = {
                key: serializers.CharField(
                    required=False, max_length=MAX_FACT, help_text=f"{label} of a run: only interviews from such runs."
                )
                for key, label in RUN_FACTS.items()
            }
            return {**super().get_fields(), **facts}

    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        found = self.study.interviews.order_by("pk")
        for name, path in {"kind": "kind", "file_sha256": "imported_file__sha256"}.items():
            if name in self.query:
                found = found.filter(**{path: self.query[name]})
        if "masked" in self.query:
            masked = found.masked()
            found = masked if self.query["masked"] == "true" else found.exclude(pk__in=masked.values("pk"))
        found = found.of_run({key: self.query[key] for key in RUN_FACTS if key in self.query})
        if since := self.query.get("since"):
            grown = InterviewVersion.objects.filter(interview=OuterRef("pk"), imported_file__imported_at__gte=since)
            changes = InterviewChange.objects.filter(interview=OuterRef("pk"), changed_at__gte=since)
            found = found.filter(Q(imported_file__imported_at__gte=since) | Exists(grown) | Exists(changes))
        return self.answer_page(found.values(*list_columns(self.Output)))


class ReadInterview(StudyView):
    """One interview with everything that is known about its origin. Its text is read as sentences."""

    class Output(ListInterviews.Output):
        """An interview in full; an empty text means unknown."""

        class Meta(ListInterviews.Output.Meta):
            ref_name = "Interview"
            fields = (
                f"{ListInterviews.Output.Meta.fields} vendor surface period interviewer tier inclusion "
                "inclusion_reason opening_prompt segmenter file file_sha256 metadata run"
            )
            paths: ClassVar = {
                **ListInterviews.Output.Meta.paths,
                "file": "imported_file__name",
                "file_sha256": "imported_file__sha256",
            }

    def get(self, request: Request, slug: str, interview_id: int) -> Response:
        rows = self.study.interviews.values("pk", *list_columns(self.Output))
        return self.answer(find_row(rows, interview_id, "interview"))


class ListSentences(StudyView):
    """The sentences of an interview, in order. The text is exact; offsets count code points in the turn's text."""

    class Output(RowOutput):
        """A sentence, the unit of coding."""

        kind = serializers.ChoiceField(SENTENCE_KINDS, help_text="The kind of text it is in.")
        text = serializers.CharField(help_text="The exact text of the sentence; empty where it is closed.")
        closed = serializers.BooleanField(help_text=CLOSED)

        class Meta:
            ref_name = "Sentence"
            model = Sentence
            fields = "id turn position role channel start end kind text closed"
            paths: ClassVar = {"turn": "turn__position", "role": "turn__role", "channel": "turn__channel"}

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str, interview_id: int) -> Response:
        interview = find_row(Interview.objects.filter(study=self.study).only("pk"), interview_id, "interview")
        text = Substr("turn__text", F("start") + 1, F("end") - F("start"))
        sentences = (
            Sentence.objects.filter(turn__interview=interview, retired_by__isnull=True)
            .order_by("position", "start")
            .annotate(text=text)
        )
        return answer_texts(self, sentences, turn="turn_id")


class ListTurns(StudyView):
    """The turns of an interview, in order, including tool calls, their results, and reasoning. The text is exact."""

    class Output(RowOutput):
        """A turn: what one side said at one time."""

        stage = serializers.ChoiceField(
            STAGES, allow_null=True, help_text="Where it took place: front, back or tool; null for other speakers."
        )
        text = serializers.CharField(help_text="The exact text; empty where it is closed.")
        closed = serializers.BooleanField(help_text=CLOSED)

        class Meta:
            ref_name = "Turn"
            model = Turn
            fields = "position role channel stage speaker prompt_kind is_answer call_id details text closed"

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str, interview_id: int) -> Response:
        interview = find_row(Interview.objects.filter(study=self.study).only("pk"), interview_id, "interview")
        return answer_texts(self, interview.turns.order_by("position"), turn="pk")


class ListStudySentences(StudyView):
    """Every current sentence of a study, coded or not, ordered by id. To read a whole study, follow ``next``."""

    class Output(ListSentences.Output):
        """A sentence and the interview that it is in."""

        class Meta(ListSentences.Output.Meta):
            ref_name = "StudySentence"
            fields = f"{ListSentences.Output.Meta.fields} interview"
            paths: ClassVar = {**ListSentences.Output.Meta.paths, "interview": "turn__interview"}

    Query = CursorParameters
    pagination_class = Cursor

    def get(self, request: Request, slug: str) -> Response:
        text = Substr("turn__text", F("start") + 1, F("end") - F("start"))
        sentences = Sentence.objects.current().filter(turn__interview__study=self.study).annotate(text=text)
        return answer_texts(self, sentences, turn="turn_id")


def answer_texts(view: StudyView, rows: QuerySet[Any], *, turn: str) -> Response:
    """A page of turns or sentences, without the text of reasoning that is hidden from the person. ``turn`` is the column of the
    turn."""
    operation = view.find_operation(view.request.method)
    columns = [column for column in list_columns(operation.Output) if column not in DERIVED]
    pages = (operation.pagination_class or Pages)()
    found = pages.paginate_queryset(rows.values(turn, *columns), view.request, view=view)
    viewer = Viewer(view.study, view.person, view.role)
    closed = viewer.find_closed({row[turn] for row in found})
    for row in found:
        row["closed"] = row[turn] in closed
        if "role" in row:
            row["stage"] = find_stage(row["role"], row["channel"])
        if row["closed"]:
            row |= {name: empty for name, empty in (("text", ""), ("details", {})) if name in row}
    return view.answer_rows(pages, found)
