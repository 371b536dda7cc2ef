"""Experiments in deployment: their locked plans, their units, their figures. Coders get none of it."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.errors import InvalidParameters
from auditapp.api.inputs import Body, FileBody, FileParser, Parameters, Words
from auditapp.api.outputs import RecordOutput, RowOutput
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address, find_row
from auditapp.benchmarks.experiments.actions import Loaded, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.models import Experiment
from auditapp.benchmarks.experiments.pure.plans import MAX_NAME, PlanRefused, make_plan
from auditapp.benchmarks.experiments.queries import read_report
from transcripts.accounts.models import Scope
from transcripts.blinding.viewers import Viewer
from transcripts.refusals import Refused
from transcripts.studies.roles import Permission


class ExperimentOutput(RowOutput):
    """An experiment, whose plan does not change."""

    class Meta:
        ref_name = "Experiment"
        model = Experiment
        fields = "id name plan sha256 locked_at locked_by"
        paths: ClassVar = {"locked_by": "locked_by_name"}


class ListExperiments(StudyView):
    """The experiments of a study by name, with their plans."""

    Query = PageParameters
    Output = ExperimentOutput
    pagination_class = Pages
    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(self.study.experiments.order_by("name"))


class LockPlan(StudyView):
    """Lock the plan of an experiment, before there are outcomes. Nobody can change it afterwards; the same plan under the same
    name again gives the experiment there is."""

    class Input(Body):
        """A plan."""

        name = Words(
            required=False,
            allow_blank=True,
            default="",
            max_length=MAX_NAME,
            help_text="Name of the experiment; without it, that in the plan.",
        )
        plan = serializers.DictField(help_text="The plan as docs/reference/formats.md describes it: a JSON object.")

        class Meta:
            ref_name = "NewExperiment"

    Output = ExperimentOutput
    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {201: "The plan is locked."}

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        try:
            plan = make_plan(given["plan"])
            experiment = lock_plan(study=self.study, plan=plan, name=given["name"], by=self.person)
        except PlanRefused as error:
            raise serializers.ValidationError({"plan": [str(error)]}) from error
        return self.answer(experiment, status=201)


class LoadUnits(StudyView):
    """Load units of an experiment from a CSV: all of it, or none. Units that are there stay as they are; outcomes that were not
    known are added."""

    class Input(FileBody):
        """A CSV of units. Larger files come in by page or command."""

        class Meta:
            ref_name = "NewUnits"

    class Output(RecordOutput):
        """What the file brought."""

        class Meta:
            ref_name = "LoadedUnits"
            record = Loaded
            fields = "new completed unchanged"

    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    parser_classes = (FileParser,)
    success = {200: "What was loaded from the file."}

    def post(self, request: Request, slug: str, experiment_id: int) -> Response:
        experiment = find_row(self.study.experiments.all(), experiment_id, "experiment")
        given = self.read_body()
        try:
            loaded = load_enrolments(experiment=experiment, data=given["data"], by=self.person)
        except Refused as error:
            raise serializers.ValidationError({"content": [str(error)]}) from error
        return self.answer(loaded)


class ReadExperimentReport(StudyView):
    """The figures of an experiment, as `manage.py experiment report --json` prints them, of what you may see."""

    class Query(Parameters):
        """Whose codings count."""

        coder = serializers.CharField(
            required=False,
            max_length=150,
            help_text="Whose codings give the moves of the sample; without it, who has read most of its threads.",
        )

    class Output(serializers.Serializer[Any]):
        """The report so far."""

        experiment = serializers.IntegerField(help_text="Number of the experiment.")
        plan_sha256 = serializers.CharField(help_text="SHA-256 of the plan that was locked.")
        outcome = serializers.CharField(help_text="The primary outcome.")
        baseline = serializers.CharField(help_text="The arm that is compared with.")
        variant = serializers.CharField(help_text="The arm that is compared.")
        arms = serializers.JSONField(
            help_text="By arm: units assigned, with a known outcome, and with it, and their share; of a number, mean and sd."
        )
        srm = serializers.JSONField(help_text="Whether units are assigned in the planned shares: chi2, p and alarm.")
        effect = serializers.JSONField(
            help_text="Variant minus baseline on the primary outcome, with interval and tests."
        )
        interaction = serializers.JSONField(
            allow_null=True,
            help_text="Whether the differences of the groups differ from one another: q, df, df_error, p, the groups that are "
            "compared, and few, those with fewer than 10 units or without spread on one side; null without two groups.",
        )
        groups = serializers.JSONField(help_text="The same by group, P by Holm over the groups.")
        others = serializers.JSONField(help_text="The same of the other outcomes by name, P by Holm over them.")
        missing = serializers.JSONField(
            help_text="By outcome: of each arm how many outcomes are missing of how many units, and the bounds of the difference "
            "if all of one arm were no and all of the other yes (bounds), with their 95 % interval (bounds_ci); of a number by its "
            "scale, null without one."
        )
        loads = serializers.IntegerField(
            help_text="How many files changed the units. After each the differences could be read, and P is that of one look."
        )
        moves = serializers.JSONField(
            allow_null=True,
            help_text="Moves in the threads of the sample by arm, as far as you may see them; null before it is drawn.",
        )

        class Meta:
            ref_name = "ExperimentReport"

    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str, experiment_id: int) -> Response:
        experiment = find_row(self.study.experiments.all(), experiment_id, "experiment")
        viewer = Viewer(self.study, self.person, self.role)
        try:
            report = read_report(experiment, viewer=viewer, coder=self.query.get("coder", ""))
        except Refused as error:
            raise InvalidParameters({"coder": [str(error)]}) from error
        return self.answer({**report, "experiment": experiment.pk, "plan_sha256": experiment.sha256})


Experiments = at_one_address(get=ListExperiments, post=LockPlan)
