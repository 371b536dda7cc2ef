"""Scripts, launches of suites, and the report of a batch that ran one."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.batches import ReportOutput, describe_reported
from auditapp.api.errors import InvalidParameters
from auditapp.api.inputs import Choice, Parameters, TrueOrFalse, Uuid, WholeNumber, Words
from auditapp.api.launching import (
    MAX_LABEL,
    AskedView,
    EstimateView,
    LaunchView,
    OptionsInput,
    find_variant,
    read_options,
)
from auditapp.api.outputs import RowOutput
from auditapp.api.views import PageParameters, Pages, StudyView, find_row
from auditapp.batches.kinds import find_visibility
from auditapp.batches.launching import MAX_REPEATS, LaunchPlan
from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.actions.scripts import launch_scenarios, plan_scenarios
from auditapp.benchmarks.scenarios.models import Question, Script
from auditapp.benchmarks.scenarios.queries.runs import KIND, read_run_report
from transcripts.blinding.viewers import Viewer
from transcripts.refusals import Refused
from transcripts.studies.roles import Permission


class ScriptTurnOutput(RowOutput):
    """What is said in a turn, or a question of an interview's bank."""

    class Meta:
        ref_name = "ScriptTurn"
        model = Question
        fields = "position kind intent text text_if_asked"


class ScriptOutput(RowOutput):
    """One number of a script."""

    turns = ScriptTurnOutput(source="questions", many=True, help_text="What is said, in its order.")

    class Meta:
        ref_name = "Script"
        model = Script
        fields = "name number use suite system turns case consents consent_basis language sha256 written_at written_by"
        paths: ClassVar = {
            "consent_basis": ("consent_basis", "The basis of these consents; may be empty."),
            "written_by": "written_by_name",
        }


class ListScripts(StudyView):
    """Every number of the scripts of a study. They say what turns are meant to be, so only those who see others' codings read
    them."""

    class Query(PageParameters):
        """Which scripts to return."""

        use = Choice(Script.Use.choices, required=False, help_text="Only those for interviews, or for scenarios.")
        suite = serializers.CharField(required=False, max_length=100, help_text="Only those of this suite.")

    Output = ScriptOutput
    pagination_class = Pages
    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str) -> Response:
        scripts = Script.objects.filter(study=self.study).prefetch_related("questions")
        wanted = {name: self.query[name] for name in ("use", "suite") if name in self.query}
        return self.answer_page(scripts.filter(**wanted).order_by("pk"))


class ScenariosInput(OptionsInput):
    """A suite, to be played by models under conditions."""

    suite = Words(
        max_length=100, help_text="Name of a suite of the study. The latest number of each of its scripts is run."
    )
    models = serializers.ListField(
        child=Words(max_length=MAX_LABEL), allow_empty=False, help_text="Labels of the models."
    )
    conditions = serializers.DictField(
        child=Words(trim_whitespace=False),
        default=dict,
        help_text="The system text of each condition by its name; it comes before each script's own. `prompted` is the one that "
        "sessions without a prompt are measured against.",
    )
    has_unprompted = TrueOrFalse(
        default=True, help_text="Whether each case is also run without a system text of the team."
    )
    repeats = WholeNumber(
        min_value=1, max_value=MAX_REPEATS, default=1, help_text="How often each case is run under each condition."
    )

    class Meta:
        ref_name = "NewScenarios"


class OfScenarios(AskedView):
    """A suite, played by models."""

    def plan(self, given: dict[str, Any]) -> LaunchPlan:
        return plan_scenarios(**self._read_choice(given))

    def launch(self, given: dict[str, Any]) -> Batch:
        return launch_scenarios(**self._read_choice(given), options=read_options(given), by=self.person)

    def _read_choice(self, given: dict[str, Any]) -> dict[str, Any]:
        return {
            "study": self.study,
            "suite": given["suite"],
            "variants": [find_variant(label) for label in given["models"]],
            "conditions": {name: text.replace("\r\n", "\n") for name, text in given["conditions"].items()},
            "has_unprompted": given["has_unprompted"],
        }


class LaunchScenarios(OfScenarios, LaunchView):
    """Session every script of a suite with models under conditions. What was said becomes masked threads, as sessions end.

    The same request sent again launches nothing more and answers 200 with the batch.
    """

    Input = ScenariosInput


class EstimateScenarios(OfScenarios, EstimateView):
    """What a launch of a suite would send and cost at most, as its page shows it. Stores nothing.

    It takes the same body, and refuses what the launch would refuse.
    """

    class Input(ScenariosInput):
        """A suite, to be played by models under conditions; the key is not needed."""

        idempotency_key = Uuid(required=False, help_text="Not used.")

        class Meta:
            ref_name = "ReviewedScenarios"


class ReadScenarioReport(StudyView):
    """The report of a batch that ran a suite, as `manage.py scenario report --batch N --json` prints it."""

    class Query(Parameters):
        """Whose codings count."""

        coder = serializers.CharField(
            required=False,
            max_length=150,
            help_text="The one coder whose codings give the outcome of cases that name a code; if not sent, all coders and "
            "adjudications.",
        )

    class Output(ReportOutput):
        """The report so far."""

        sessions = serializers.IntegerField(help_text="Sessions that have ended, of cases that expect an answer.")
        left_out = serializers.IntegerField(help_text="Those of them without an outcome.")
        without_answer = serializers.IntegerField(help_text="Stored sessions of cases that expect no answer.")
        states = serializers.DictField(
            child=serializers.IntegerField(), help_text="How many sessions are open, stored and failed."
        )
        failed = serializers.JSONField(help_text="Sessions that failed: case, model, condition and repeat of each.")
        retention = serializers.JSONField(help_text="By model: retention without a prompt.")
        comparisons = serializers.JSONField(
            help_text="Two models, two conditions, or reasoning on and off, on the cases that both met: the first less the second."
        )
        arms = serializers.JSONField(help_text="Rates of each model and condition, with their calibration and groups.")
        groups = serializers.JSONField(help_text="Groups of the only arm; null where there are several.")
        coder = serializers.CharField(
            help_text="The one coder whose codings give the outcomes of cases that name a code; empty for all coders."
        )
        coders = serializers.DictField(
            child=serializers.IntegerField(),
            help_text="Who has read threads of such cases, and how many. Only blind codings are read.",
        )
        readings = serializers.DictField(
            child=serializers.IntegerField(),
            allow_null=True,
            help_text="How many of these threads have an outcome because it was adjudicated, because two coders or more "
            "agreed, or by a single coder; and how many have none because coders disagree (disputed), or because not everything "
            "is decided (unread). Null: no case names a code.",
        )
        unknown_codes = serializers.ListField(
            child=serializers.CharField(), help_text="Codes that cases name and the codebook does not have."
        )

        class Meta:
            ref_name = "ScenarioReport"

    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.study.batches.filter(kind=KIND), batch_id, "batch")
        batch.study = self.study
        visibility = find_visibility(batch, Viewer(self.study, self.person, self.role))
        if not visibility.is_whole:
            raise PermissionDenied(visibility.sentence)
        try:
            report = read_run_report(batch, coder=self.query.get("coder", ""))
        except Refused as error:
            raise InvalidParameters({"coder": [str(error)]}) from error
        return self.answer({**report, **describe_reported(batch)})
