"""Interviews held by programs: opening an interview, asking questions, closing it, and a list of interviews."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.errors import Conflict
from auditapp.api.fields import (
    Body,
    Choice,
    Dollars,
    FileParser,
    RecordOutput,
    RowBody,
    RowOutput,
    Uuid,
    WholeNumber,
    Words,
)
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address, find_row, list_columns
from auditapp.benchmarks.scenarios.actions.asking import ask, record_answer
from auditapp.benchmarks.scenarios.actions.scripts import branch_session, open_session
from auditapp.benchmarks.scenarios.actions.storing import close_session
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.outcomes import LABELS
from auditapp.benchmarks.scenarios.queries.sessions import (
    Exchange,
    Raised,
    find_raised,
    find_script,
    latest_scripts,
    read_talk,
    visible_sessions,
)
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import Scope
from transcripts.blinding.viewers import Viewer
from transcripts.refusals import Refused
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID

# The schema gives enums names of their own.
SESSION_MODES, SESSION_STATES = Session.Mode.choices, Session.State.choices
QUESTION_STATES = list(LABELS.items())
# The schema gives enums names of their own.
QUESTION_KINDS = Question.Kind.choices
MAX_LABEL = 200
KEY = "A UUID that you generate. If you send it again, nothing is done twice."
# What an action calls a field that has another name here.
NAMES = {"variant": "model", "label": "name"}


class SessionOutput(RowOutput):
    """An interview that is or was held here."""

    questions = serializers.IntegerField(
        source="asked",
        help_text="Number of questions asked in it, not counting those it shares with the interview it branches off.",
    )

    class Meta:
        ref_name = "Session"
        model = Session
        fields = (
            "id name script script_number mode state opening surface model model_as_shown vendor tier branch_of after "
            "batch interview questions opened_at opened_by"
        )
        paths: ClassVar = {
            "name": "label",
            "script": ("script__name", "Name of the script with which it is held."),
            "script_number": ("script__number", "Number of the script's version."),
            "model": ("arm__variant__label", "Label of the model that is asked; null for a recorded interview."),
            "after": "after_position",
            "batch": ("arm__batch", "Number of the batch of its calls; null for a recorded interview."),
            "interview": ("interview", "Number of the interview that it became, if any."),
            "opened_by": "opened_by_name",
        }


class QuestionOutput(serializers.Serializer[Any]):
    """A question of an interview that is held here, with its outcome."""

    number = serializers.IntegerField(help_text="Its number in the interview, from 1.")
    is_shared = serializers.BooleanField(
        help_text="Whether it was asked in the session from which this one branches off."
    )
    kind = serializers.CharField(help_text="How strongly it directs the model.")
    intent = serializers.CharField(help_text="The intent of a challenge; empty for others, and for coders.")
    text = serializers.CharField(help_text="The question as it was sent.")
    state = serializers.ChoiceField(QUESTION_STATES, help_text="Its state.")
    answer = serializers.CharField(help_text="The model's answer as stored; empty for none.")
    finish_reason = serializers.CharField(help_text="Why the model stopped, as the provider calls it.")
    served_model = serializers.CharField(help_text="The model that answered, as the provider calls it.")
    calls = serializers.IntegerField(help_text="How often it was sent.")
    possibly_paid_twice = serializers.IntegerField(help_text="Calls that may have been paid for without being used.")

    class Meta:
        ref_name = "SessionQuestion"


class SessionView(StudyView):
    """What these operations share."""

    @property
    def viewer(self) -> Viewer:
        """In its current state: a session that was just opened is visible."""
        return Viewer(self.study, self.person, self.role)

    def find_session(self, session_id: int) -> Session:
        """An interview whose content the person may see. Raises ``Http404``."""
        sessions = visible_sessions(self.viewer).select_related("study", "arm__batch")
        session: Session = find_row(sessions, session_id, "interview held here")
        return session

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


class ListSessions(SessionView):
    """The interviews held here whose content you may see, the latest first: those that you held, those that you have unblinded,
    and all of them if you do not code."""

    tag = "sessions"

    class Query(PageParameters):
        """Which interviews to return."""

    Output = SessionOutput
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(visible_sessions(self.viewer).values(*list_columns(SessionOutput)))


class ReadTalk(SessionView):
    """What was said in an interview that is held here, question by question. An interview that is hidden from you returns 404."""

    tag = "sessions"

    class Query(PageParameters):
        """Which questions to return."""

    Output = QuestionOutput
    pagination_class = Pages

    def get(self, request: Request, slug: str, session_id: int) -> Response:
        return self.answer_page([self.describe_question(each) for each in read_talk(self.find_session(session_id))])


class RaisedOutput(RecordOutput):
    """A code whose topic a question raised before the model or the interviewer had mentioned it: codings of it after this
    question count as prompted."""

    code = serializers.CharField(help_text="Id of the code.")

    class Meta:
        ref_name = "RaisedCode"
        record = Raised
        fields = "code name words"


class AskedOutput(QuestionOutput):
    """A question that was asked, or recorded with its answer, in its current state."""

    raises = RaisedOutput(many=True, help_text="The codes whose topics it raised.")

    class Meta:
        ref_name = "AskedQuestion"


class HoldView(SessionView):
    """What the operations on an interview that is being held share."""

    scope = Scope.LAUNCH
    permission = Permission.RUN_BATCHES
    refusals = (409,)

    @contextmanager
    def taking_refusals(self) -> Iterator[None]:
        """Turns the refusals of an action into errors of this operation's fields, or into conflicts."""
        try:
            yield
        except Refused as error:
            field = NAMES.get(error.field, error.field)
            if field in self.find_operation(self.request.method).Input().fields:
                raise serializers.ValidationError({field: [str(error)]}) from error
            raise Conflict(str(error)) from error

    def answer_session(self, session: Session, *, status: int = 200) -> Response:
        """An interview in its current state. Raises ``Conflict`` if somebody else opened it with the same key."""
        found = visible_sessions(self.viewer).filter(pk=session.pk).values(*list_columns(SessionOutput)).first()
        if found is None:
            raise Conflict("Another person opened an interview with this key. Generate another key.")
        return self.answer(found, status=status)


class OpenSession(HoldView):
    """Open an interview with a script: with a model, which gets the opening at once, at a cost, or as a recording of a chat page.

    Sending the same key again opens nothing more and returns 200.
    """

    class Input(RowBody):
        """An interview to be held."""

        script = Words(
            max_length=MAX_LABEL,
            help_text="Name of a script, whose latest number is used; or name and number, such as gender/2.",
        )
        seed = WholeNumber(
            required=False, allow_null=True, default=None, min_value=0, max_value=MAX_ID, help_text="See opening."
        )
        model = Words(allow_blank=True, default="", max_length=MAX_LABEL, help_text="Label of the model that is asked.")
        cap = Dollars(
            required=False,
            allow_null=True,
            default=None,
            help_text="The most that the interview and its branches may cost, in US dollars.",
        )
        name = Words(
            allow_blank=True,
            default="",
            max_length=MAX_LABEL,
            help_text="The title of the interview; if not sent, the script and the model.",
        )
        idempotency_key = Uuid(help_text=KEY)

        class Meta(RowBody.Meta):
            ref_name = "NewSession"
            model = Session
            fields = "script opening seed model cap model_as_shown surface vendor tier"
            paths: ClassVar = {
                "opening": (
                    "opening",
                    "Id of one of its openings; if not sent, the seed chooses one, balanced over models.",
                ),
                "model_as_shown": (
                    "model_as_shown",
                    "For a recorded interview, instead of model: what the chat page calls its model.",
                ),
                "surface": ("surface", "For a recorded interview: the chat page."),
            }

    Output = SessionOutput
    success: ClassVar = {
        201: "The interview that was opened.",
        200: "The interview that was already opened with this key.",
    }

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        is_known = Session.objects.filter(idempotency_key=given["idempotency_key"]).exists()
        with self.taking_refusals():
            session = open_session(
                study=self.study,
                script=self._find_script(given["script"]),
                variant=_find_variant(given["model"]),
                label=given["name"],
                cap_usd=given["cap"],
                idempotency_key=given["idempotency_key"],
                by=self.person,
                **{name: given[name] for name in OPENED_WITH},
            )
        return self.answer_session(session, status=200 if is_known else 201)

    def _find_script(self, label: str) -> Script:
        script = find_script(self.study, label)
        if script is None:
            known = ", ".join(each.label for each in latest_scripts(self.study, Script.Use.INTERVIEW)) or "none"
            raise serializers.ValidationError(
                {"script": [f"There is no such interview script. The scripts are: {known}."]}
            )
        return script


OPENED_WITH = ("opening", "seed", "model_as_shown", "surface", "vendor", "tier")


class AskQuestion(HoldView):
    """Ask the model the next question, at a cost; or store a question with its answer, as a chat page shows both.

    A worker sends the question with everything that was said before; GET returns the answer. Sending the same key again asks
    nothing more and returns 200.
    """

    class Input(Body):
        """What is asked."""

        kind = Choice(QUESTION_KINDS, help_text="How strongly it directs the model.")
        intent = Choice(
            Question.Intent.choices,
            allow_blank=True,
            default="",
            help_text="The intent of a challenge; empty for other kinds.",
        )
        text = Words(trim_whitespace=False, help_text="The question, which is sent unchanged: at most 1,000,000 bytes.")
        answer = Words(
            allow_blank=True,
            default="",
            trim_whitespace=False,
            help_text="Only for a recorded interview: the answer of the chat page.",
        )
        reasoning = Words(
            allow_blank=True,
            default="",
            trim_whitespace=False,
            help_text="Only for a recorded interview: the reasoning that the chat page shows.",
        )
        seen = WholeNumber(
            required=False,
            allow_null=True,
            default=None,
            min_value=0,
            max_value=MAX_ID,
            help_text="Number of the last question that you saw, 0 for none. If another question has been asked since, the "
            "response is 409.",
        )
        idempotency_key = Uuid(help_text=KEY)

        class Meta:
            ref_name = "NewQuestion"

    Output = AskedOutput
    success: ClassVar = {201: "The question that was asked.", 200: "The question that was already asked with this key."}
    # Answers that are recorded may be long.
    parser_classes = (FileParser,)

    def post(self, request: Request, slug: str, session_id: int) -> Response:
        session, given = self.find_session(session_id), self.read_body()
        key = given.pop("idempotency_key")
        answered = {name: given.pop(name) for name in ("answer", "reasoning")}
        is_known = Question.objects.filter(idempotency_key=key).exists()
        with self.taking_refusals():
            if session.mode == Session.Mode.RECORDED:
                question = record_answer(session=session, by=self.person, idempotency_key=key, **given, **answered)
            else:
                _refuse_answers(answered)
                question = ask(session=session, by=self.person, idempotency_key=key, **given)
        talk = read_talk(session)
        before = [each for each in talk if each.number < question.position]
        raised = find_raised(session, before, question.text, question.kind)
        raises = [{"code": code, **each._asdict()} for code, each in raised.items()]
        asked = next(each for each in talk if each.question.pk == question.pk)
        return self.answer(self.describe_question(asked) | {"raises": raises}, status=200 if is_known else 201)


class BranchSession(HoldView):
    """Open an interview that continues differently after an answer of another interview, which does not change.

    Sending the same key again opens nothing more and returns 200.
    """

    class Input(Body):
        """Where it branches off."""

        after = WholeNumber(
            min_value=1, max_value=MAX_ID, help_text="Number of the question after whose answer it continues."
        )
        idempotency_key = Uuid(help_text=KEY)

        class Meta:
            ref_name = "NewBranch"

    Output = SessionOutput
    success: ClassVar = {201: "The branch.", 200: "The branch that was already opened with this key."}

    def post(self, request: Request, slug: str, session_id: int) -> Response:
        session, given = self.find_session(session_id), self.read_body()
        key = given["idempotency_key"]
        is_known = Session.objects.filter(idempotency_key=key).exists()
        with self.taking_refusals():
            branch = branch_session(session=session, after=given["after"], by=self.person, idempotency_key=key)
        return self.answer_session(branch, status=200 if is_known else 201)


class CloseSession(HoldView):
    """Store an interview in the study.

    From then on it can be coded, and nothing can be added to it. Closing it again with the same values changes nothing. A branch
    can be closed only after the interview from which it branches off.
    """

    class Input(RowBody):
        """Whether it is analysed."""

        class Meta(RowBody.Meta):
            ref_name = "Closing"
            model = Session
            fields = "inclusion reason"
            paths: ClassVar = {
                "inclusion": ("inclusion", "included, excluded, or a word of your own."),
                "reason": ("inclusion_reason", "Why."),
            }
            needed = "inclusion reason"

    Output = SessionOutput
    success: ClassVar = {200: "The interview as it is now."}

    def post(self, request: Request, slug: str, session_id: int) -> Response:
        session, given = self.find_session(session_id), self.read_body()
        words = tuple(" ".join(given[name].split()) for name in ("inclusion", "reason"))
        if session.state != Session.State.STORED or (session.inclusion, session.inclusion_reason) != words:
            with self.taking_refusals():
                close_session(session=session, inclusion=given["inclusion"], reason=given["reason"], by=self.person)
        return self.answer_session(session)


Sessions = at_one_address(get=ListSessions, post=OpenSession)
Talk = at_one_address(get=ReadTalk, post=AskQuestion)


def _find_variant(label: str) -> ModelVariant | None:
    if not label:
        return None
    variant = ModelVariant.objects.select_related("account").filter(label=label).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.order_by("label").values_list("label", flat=True)) or "none"
        raise serializers.ValidationError({"model": [f"There is no such model. The models are: {labels}."]})
    return variant


def _refuse_answers(answered: dict[str, str]) -> None:
    told = [name for name, text in answered.items() if text]
    if told:
        sentence = "This interview is held here, so a worker fetches the answer. Leave this out."
        raise serializers.ValidationError({name: [sentence] for name in told})
