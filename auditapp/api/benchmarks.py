"""What programs can read from and do with the benchmarks: the second-order-bias report of a batch; the tables of a gender-cue
probe; scripts, launches of suites and the report of a batch that ran one; and experiments in deployment, with their locked plans,
units and figures. Coders see nothing of experiments.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.batches import ReportOutput, describe_reported
from auditapp.api.errors import InvalidParameters
from auditapp.api.fields import (
    Body,
    Choice,
    FileBody,
    FileParser,
    Numeral,
    Parameters,
    RecordOutput,
    RowOutput,
    TrueOrFalse,
    Uuid,
    WholeNumber,
    Words,
)
from auditapp.api.launching import (
    MAX_LABEL,
    AskedView,
    EstimateView,
    LaunchView,
    OptionsInput,
    find_variant,
    read_options,
)
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address, find_row
from auditapp.batches.kinds import get_kind
from auditapp.batches.launching import MAX_REPEATS, LaunchPlan
from auditapp.batches.models import Batch
from auditapp.benchmarks.experiments.actions import Loaded, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.models import Experiment
from auditapp.benchmarks.experiments.pure.plans import MAX_NAME, PlanRefused, make_plan
from auditapp.benchmarks.experiments.queries import read_report as read_experiment_report
from auditapp.benchmarks.gender_cues.pure.tables import AXES
from auditapp.benchmarks.gender_cues.queries import KIND as PROBE_KIND
from auditapp.benchmarks.gender_cues.queries import ProbeIsOff, require_figures
from auditapp.benchmarks.gender_cues.queries import read_report as read_probe_report
from auditapp.benchmarks.scenarios.actions.scripts import launch_scenarios, plan_scenarios
from auditapp.benchmarks.scenarios.models import Question, Script
from auditapp.benchmarks.scenarios.queries.runs import KIND as SCENARIO_KIND
from auditapp.benchmarks.scenarios.queries.runs import read_run_report
from auditapp.benchmarks.sob.pure.scores import CELL_FIELDS, ScoreCell
from auditapp.benchmarks.sob.queries import KIND as SOB_KIND
from auditapp.benchmarks.sob.report.comparisons import read_comparison
from auditapp.benchmarks.sob.report.stored_reports import await_report
from transcripts.accounts.models import Scope
from transcripts.refusals import Refused
from transcripts.studies.roles import Permission


class ScoreOutput(RecordOutput):
    """The figures of one model, task and target. Rates are null if nothing was measured, which is not 0."""

    class Meta:
        ref_name = "SobCell"
        record = ScoreCell
        fields = " ".join(CELL_FIELDS)


def _list_rows(sentence: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.DictField(), help_text=f"{sentence} docs/reference/sob.md defines it."
    )


class ReadSobReport(StudyView):
    """The whole report of a sob batch: scores, statistics, attributed values. Nothing is rounded."""

    class Output(ReportOutput):
        """The current report of a batch."""

        as_of = serializers.DateTimeField(help_text="When the figures were computed.")
        answers = serializers.IntegerField(help_text="Number of answers from which they were computed.")
        is_current = serializers.BooleanField(
            help_text="Whether nothing has changed since; if false, a newer report is being computed."
        )
        notice = serializers.CharField(
            help_text="The caveats of all figures in sentences, such as invented answers; may be empty."
        )
        alarms = serializers.ListField(
            child=serializers.CharField(), help_text="Which figures over all texts are not findings, in sentences."
        )
        providers = serializers.DictField(
            child=serializers.CharField(), help_text="Who ran each model; `fake` where answers are invented."
        )
        versions = serializers.DictField(help_text="What the figures were computed with: rules, tables, seed.")
        warnings = serializers.ListField(child=serializers.CharField(), help_text="Warnings about the figures.")
        cells = serializers.ListField(child=ScoreOutput(), help_text="Scores per model, task and target.")
        friedman = _list_rows("Whether targets differ, per task, models as blocks.")
        friedman_families = _list_rows(
            "The same with families of models as blocks; only if several models share a family."
        )
        posthoc = _list_rows("Which targets differ, pair by pair.")
        paired = _list_rows("Every pair of models, on the same texts.")
        sensitivity = _list_rows("The effect of each counting rule on each score.")
        repeats = _list_rows("How much the scores of repeats differ.")
        secondary = _list_rows("Scores by the further targets that a text has.")
        secondary_contrast = _list_rows("Texts with a further target compared with texts without it.")
        top_values = _list_rows("The values that are attributed most often.")
        mapping = _list_rows(
            "How often any value of a list is named: the values that stand for the target itself, or for the "
            "dominant group."
        )
        mapping_all = _list_rows("How often every value of a list is named.")
        harms = _list_rows("Answers by harm.")
        social_map = _list_rows("Targets by attributed values, per task and model.")
        readers = _list_rows("Who read the answers: rules, a formatter, or a person.")
        base = _list_rows("Verdicts of the base task.")

        class Meta:
            ref_name = "SobReport"

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.study.batches.filter(kind=SOB_KIND), batch_id, "sob batch")
        about, stored = describe_reported(batch), await_report(batch)
        figures = {"as_of": stored.as_of, "answers": stored.n_answers, "is_current": stored.is_current}
        return self.answer({**about, **figures, **stored.report})


class TextsOutput(serializers.Serializer[Any]):
    """How many texts two batches have in common."""

    common = serializers.IntegerField(help_text="Texts that both batches asked about, matched by their words.")
    only_here = serializers.IntegerField(help_text="Texts only in the first batch, left out.")
    only_there = serializers.IntegerField(help_text="Texts only in the other batch, left out.")
    other_target = serializers.IntegerField(
        help_text="Common texts for which the batches name different targets: they count only in the overall score."
    )

    class Meta:
        ref_name = "SobComparisonTexts"


class ReadSobComparison(StudyView):
    """Models of two sob batches compared over the texts that both asked about, as `sob compare --json` prints it."""

    class Query(Parameters):
        """Which models are compared: without either, every model that both batches have."""

        model = serializers.CharField(required=False, max_length=300, help_text="Label of a model of the first batch.")
        other = serializers.CharField(required=False, max_length=300, help_text="Label of a model of the other batch.")

    class Output(serializers.Serializer[Any]):
        """The comparison."""

        batch = serializers.IntegerField(help_text="Number of the first batch.")
        other = serializers.IntegerField(help_text="Number of the other batch.")
        alarms = serializers.ListField(
            child=serializers.CharField(),
            help_text="One sentence for each score of either batch that is not a finding.",
        )
        comparable = serializers.BooleanField(
            help_text="Whether both batches measure the same thing; if false, nothing is compared."
        )
        differences = _list_rows(
            "What differs in how the two were made, and whether the difference rules out a comparison."
        )
        texts = TextsOutput(help_text="How many texts are common, and how many are left out.")
        paired = _list_rows("Every pair of models on the common texts, as in the report.")

        class Meta:
            ref_name = "SobComparison"

    refusals: ClassVar = (422,)

    def get(self, request: Request, slug: str, batch_id: int, other_id: int) -> Response:
        batches = self.study.batches.filter(kind=SOB_KIND)
        here, there = (find_row(batches, number, "sob batch") for number in (batch_id, other_id))
        return self.answer(read_comparison(here, there, **self.query))


class ReadProbeReport(StudyView):
    """Table 1 and Table 2 of a probe, as ``manage.py probe report --json`` prints them. It contains no answers to single texts."""

    class Query(Parameters):
        """What Table 2 counts, and what else is compared."""

        axis = Choice(
            list(AXES),
            default=AXES[0],
            help_text="By the name-inferred category (truth) or by what the model predicted.",
        )
        other = Numeral(
            required=False,
            min_value=1,
            help_text="Number of another probe of the study, whose models are compared too.",
        )
        coder = serializers.CharField(
            required=False,
            max_length=150,
            help_text="The coder whose codings are used for Table 2; if not sent, the one who coded most of what you may see.",
        )

    class Output(ReportOutput):
        """The report so far."""

        models = serializers.ListField(
            child=serializers.CharField(), help_text="Labels of the models, which are never pooled."
        )
        by_model = serializers.JSONField(
            help_text="`table1` and `table2` of each model; docs/reference/probe.md describes them. `table2` is null without "
            "rationales that you may see."
        )
        comparisons = serializers.JSONField(
            help_text="Two models under one condition, or two conditions of one model, on the texts that both were asked about: "
            "the first less the second. docs/reference/probe.md describes them."
        )
        coder = serializers.CharField(help_text="The coder whose codings are used for Table 2; may be empty.")
        tests = serializers.CharField(help_text="Which tests and intervals were used.")
        family = serializers.IntegerField(help_text="Number of P values in Table 1 that Holm's adjustment counts.")
        notes = serializers.ListField(
            child=serializers.CharField(),
            help_text="Which answers the rows of Table 1 cover: subsets chosen by the model's answer, without abstentions.",
        )
        parser = serializers.CharField(help_text="Version of the rules that read the answers.")
        warnings = serializers.ListField(child=serializers.CharField(), help_text="Warnings about the figures.")
        caveats = serializers.ListField(
            child=serializers.CharField(), help_text="A note that must be read with every figure."
        )

        class Meta:
            ref_name = "ProbeReport"

    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        probes = self.study.batches.filter(kind=PROBE_KIND)
        batch = find_row(probes, batch_id, "probe")
        batch.study = self.study
        other = find_row(probes, self.query["other"], "probe") if self.query.get("other") else None
        try:
            require_figures(self.study)
            asked = {"axis": self.query["axis"], "coder": self.query.get("coder", "")}
            report, _ = read_probe_report(batch, user=self.person, other=other, **asked)
        except ProbeIsOff as error:
            raise PermissionDenied(str(error)) from error
        except Refused as error:
            raise InvalidParameters({"coder": [str(error)]}) from error
        return self.answer({**report, **describe_reported(batch)})


class ScriptTurnOutput(RowOutput):
    """The text of a turn, or of a question from an interview's bank."""

    class Meta:
        ref_name = "ScriptTurn"
        model = Question
        fields = "position kind intent text text_if_asked"


class ScriptOutput(RowOutput):
    """One version of a script, with its number."""

    turns = ScriptTurnOutput(source="questions", many=True, help_text="Its turns, in order.")

    class Meta:
        ref_name = "Script"
        model = Script
        fields = "name number use suite system turns case consents consent_basis language sha256 written_at written_by"
        paths: ClassVar = {
            "consent_basis": ("consent_basis", "The basis of these consents; may be empty."),
            "written_by": "written_by_name",
        }


class ListScripts(StudyView):
    """All versions of the scripts of a study. They say what each turn is meant to be, so only people who may see others' codings
    can read them."""

    class Query(PageParameters):
        """Which scripts to return."""

        use = Choice(Script.Use.choices, required=False, help_text="Only scripts for interviews, or only scenarios.")
        suite = serializers.CharField(required=False, max_length=100, help_text="Only those of this suite.")

    Output = ScriptOutput
    pagination_class = Pages
    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str) -> Response:
        scripts = Script.objects.filter(study=self.study).prefetch_related("questions")
        wanted = {name: self.query[name] for name in ("use", "suite") if name in self.query}
        return self.answer_page(scripts.filter(**wanted).order_by("pk"))


class ScenariosInput(OptionsInput):
    """A suite to be run with models under conditions."""

    suite = Words(
        max_length=100, help_text="Name of a suite of the study. The latest number of each of its scripts is run."
    )
    models = serializers.ListField(
        child=Words(max_length=MAX_LABEL), allow_empty=False, help_text="Labels of the models."
    )
    conditions = serializers.DictField(
        child=Words(trim_whitespace=False),
        default=dict,
        help_text="The system text of each condition by its name; it is placed before each script's own system text. `prompted` "
        "is the condition with which sessions without a prompt are compared.",
    )
    has_unprompted = TrueOrFalse(
        default=True, help_text="Whether each case is also run without a system text written by the team."
    )
    repeats = WholeNumber(
        min_value=1, max_value=MAX_REPEATS, default=1, help_text="How often each case is run under each condition."
    )

    class Meta:
        ref_name = "NewScenarios"


class OfScenarios(AskedView):
    """A suite that was run with models."""

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
    """Run every script of a suite with models under conditions. When a session ends, it becomes a masked thread.

    The same request sent again launches nothing more and answers 200 with the batch.
    """

    Input = ScenariosInput


class EstimateScenarios(OfScenarios, EstimateView):
    """What a launch of a suite would send, and the most it would cost, as the review page shows it. Stores nothing.

    It takes the same body as the launch, and refuses whatever the launch would refuse.
    """

    class Input(ScenariosInput):
        """A suite to be run with models under conditions; the key is not needed."""

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

        sessions = serializers.IntegerField(help_text="Ended sessions of cases that expect an answer.")
        left_out = serializers.IntegerField(help_text="How many of these have no outcome.")
        without_answer = serializers.IntegerField(help_text="Stored sessions of cases that expect no answer.")
        states = serializers.DictField(
            child=serializers.IntegerField(), help_text="How many sessions are open, stored or failed."
        )
        failed = serializers.JSONField(help_text="Sessions that failed: case, model, condition and repeat of each.")
        retention = serializers.JSONField(help_text="Retention without a prompt, by model.")
        comparisons = serializers.JSONField(
            help_text="Two models, two conditions, or reasoning on and off, on the cases that both were given: the first minus "
            "the second."
        )
        arms = serializers.JSONField(help_text="Rates of each model and condition, with their calibration and groups.")
        groups = serializers.JSONField(help_text="Groups, if there is only one arm; null if there are several.")
        coder = serializers.CharField(
            help_text="The one coder whose codings give the outcomes of cases that name a code; empty for all coders."
        )
        coders = serializers.DictField(
            child=serializers.IntegerField(),
            help_text="Who has coded threads of such cases, and how many. Only blind codings count.",
        )
        readings = serializers.DictField(
            child=serializers.IntegerField(),
            allow_null=True,
            help_text="How many of these threads have an outcome because it was adjudicated, because two coders or more "
            "agreed, or by a single coder; and how many have none because coders disagree (disputed), or because not everything "
            "is decided (unread). Null: no case names a code.",
        )
        unknown_codes = serializers.ListField(
            child=serializers.CharField(), help_text="Codes that cases name but that are not in the codebook."
        )

        class Meta:
            ref_name = "ScenarioReport"

    permission = Permission.SEE_ALL_CODINGS

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.study.batches.filter(kind=SCENARIO_KIND), batch_id, "batch")
        batch.study = self.study
        visibility = get_kind(batch.kind).find_visibility(batch, self.viewer)
        if not visibility.is_whole:
            raise PermissionDenied(visibility.sentence)
        try:
            report = read_run_report(batch, coder=self.query.get("coder", ""))
        except Refused as error:
            raise InvalidParameters({"coder": [str(error)]}) from error
        return self.answer({**report, **describe_reported(batch)})


class ExperimentOutput(RowOutput):
    """An experiment, with its locked plan."""

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
    """Lock the plan of an experiment before there are outcomes. Nobody can change it afterwards. Sending the same plan under the
    same name again returns the existing experiment."""

    class Input(Body):
        """A plan."""

        name = Words(
            required=False,
            allow_blank=True,
            default="",
            max_length=MAX_NAME,
            help_text="Name of the experiment; if not sent, the name in the plan.",
        )
        plan = serializers.DictField(help_text="The plan as docs/reference/formats.md describes it: a JSON object.")

        class Meta:
            ref_name = "NewExperiment"

    Output = ExperimentOutput
    scope = Scope.MANAGE
    permission = Permission.SET_METHOD
    success = {201: "The plan was locked."}

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        try:
            plan = make_plan(given["plan"])
            experiment = lock_plan(study=self.study, plan=plan, name=given["name"], by=self.person)
        except PlanRefused as error:
            raise serializers.ValidationError({"plan": [str(error)]}) from error
        return self.answer(experiment, status=201)


class LoadUnits(StudyView):
    """Load units of an experiment from a CSV: all of them, or none. Existing units stay as they are; outcomes that were not yet
    known are added."""

    class Input(FileBody):
        """A CSV of units. Larger files are imported on a page or by a command."""

        class Meta:
            ref_name = "NewUnits"

    class Output(RecordOutput):
        """What was added from the file."""

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
    """The figures of an experiment, as `manage.py experiment report --json` prints them, based on what you may see."""

    class Query(Parameters):
        """Whose codings count."""

        coder = serializers.CharField(
            required=False,
            max_length=150,
            help_text="The coder whose codings give the moves of the sample; if not sent, the one who has coded most of its "
            "threads.",
        )

    class Output(serializers.Serializer[Any]):
        """The report so far."""

        experiment = serializers.IntegerField(help_text="Number of the experiment.")
        plan_sha256 = serializers.CharField(help_text="SHA-256 of the plan that was locked.")
        outcome = serializers.CharField(help_text="The primary outcome.")
        baseline = serializers.CharField(help_text="The baseline arm.")
        variant = serializers.CharField(help_text="The variant arm.")
        arms = serializers.JSONField(
            help_text="By arm: units assigned, units with a known outcome, and units that have it, with their share; for a "
            "numeric outcome, mean and sd."
        )
        srm = serializers.JSONField(help_text="Whether units were assigned in the planned shares: chi2, p and alarm.")
        effect = serializers.JSONField(
            help_text="Variant minus baseline on the primary outcome, with interval and tests."
        )
        interaction = serializers.JSONField(
            allow_null=True,
            help_text="Whether the effect differs between groups: q, df, df_error, p, the groups that are compared, and few, "
            "the groups with fewer than 10 units or without variation in one arm; null with fewer than two groups.",
        )
        groups = serializers.JSONField(help_text="The same by group, with P adjusted over the groups (Holm).")
        others = serializers.JSONField(
            help_text="The same for the other outcomes by name, with P adjusted over them (Holm)."
        )
        missing = serializers.JSONField(
            help_text="By outcome: for each arm, how many outcomes are missing and out of how many units; and the bounds of the "
            "difference if all missing outcomes of one arm were no and all of the other yes (bounds), with their 95 % "
            "interval (bounds_ci). For a numeric outcome, the ends of its scale are used; null without a scale."
        )
        loads = serializers.IntegerField(
            help_text="How many files changed the units. The differences could be read after each of them, but P is calculated "
            "for a single look."
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
        try:
            report = read_experiment_report(experiment, viewer=self.viewer, coder=self.query.get("coder", ""))
        except Refused as error:
            raise InvalidParameters({"coder": [str(error)]}) from error
        return self.answer({**report, "experiment": experiment.pk, "plan_sha256": experiment.sha256})


Experiments = at_one_address(get=ListExperiments, post=LockPlan)
