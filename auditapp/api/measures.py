"""Agreement between coders, and the accuracy of annotators compared with people: the figures of the pages, hidden from the same
people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.forms import Form
from django.http import Http404, QueryDict
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.annotators.models import Annotator
from auditapp.annotators.queries.annotators import list_annotators
from auditapp.api.errors import InvalidParameters
from auditapp.api.fields import Choice, Numeral, Parameters
from auditapp.api.views import PageParameters, Pages, StudyView, find_row
from auditapp.evaluation.queries.calibration_tables import BLINDING, OF_PEOPLE, CodeRow
from auditapp.evaluation.views.calibration import Asked, compare, read_asked
from auditapp.evaluation.views.calibration import measure as measure_calibration
from transcripts.agreement import report
from transcripts.agreement.forms import NOT_KNOWN, list_coders
from transcripts.agreement.pure.figures import CELLS, CODE_FIGURES, PAIR_FIGURES
from transcripts.agreement.views import NOT_REFLEXIVE, MeasuredReadings, Method, PageRequest
from transcripts.analysis.themes.queries import THEMES, BlindingChoice, choose_viewpoint, find_family
from transcripts.analysis.themes.queries import compare as compare_models
from transcripts.coding.models import Blinding
from transcripts.refusals import Refused
from transcripts.statistics.figures import Mark
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import read_methods
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_SEED

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import AskedQuestion, Compared

IS_REFLEXIVE = (
    "This family is coded by reflexive thematic analysis, which reports no coefficients. An owner can have them computed once "
    "on its page, with a reason."
)
IS_HIDDEN = "All of these labels are hidden from you. Unblind the interviews on a page of the study first."
NO_CODEBOOK = "No codebook is published in this study yet."
MEANINGS = {
    "prevalence": "Share of decisions that apply the code.",
    "prevalence_index": "The difference between the shares of yes and no.",
    "raw": "Share of units on which coders agree.",
    "positive_agreement": "Agreement on the units to which a coder applied the code.",
    "kappa": "Cohen's kappa; null for more than two coders.",
    "mean_pairwise_kappa": "Mean of Cohen's kappa over all pairs of coders.",
    "pabak": "Kappa adjusted for prevalence and bias.",
    "ac1": "Gwet's AC1.",
    "fleiss": "Fleiss' kappa.",
    "alpha": "Krippendorff's alpha.",
}
OF_CELLS = {
    "both": "Units to which both coders applied it; null for more than two coders.",
    "only_a": "Units to which only the first applied it.",
    "only_b": "Units to which only the second applied it.",
    "neither": "Units to which neither applied it.",
}
OF_MARK = "few: fewer than 10 turns, so there is no verdict; rough: fewer than 20; null: enough."
# What a reader should know about the figures of a code, by the row's own names.
CAUTIONS = {"is_nearly_always": "applied nearly always"}


def _figure(meaning: str) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, help_text=f"{meaning} Null: not defined.")


def _interval(meaning: str) -> serializers.ListField:
    return serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text=meaning)


def _words(meaning: str) -> serializers.DictField:
    return serializers.DictField(child=serializers.CharField(), help_text=meaning)


# The schema gives enums names of their own.
ANNOTATOR_MODES = Annotator.Mode.choices


class FiguresOutput(serializers.Serializer[Any]):
    """What the figures for a code share, whether of all coders or of two."""

    names: Iterable[str] = PAIR_FIGURES

    n_units = serializers.IntegerField(help_text="Units that two or more of them decided, which is the denominator.")
    kappa_se = _figure("Standard error of kappa, by formula.")
    kappa_ci95 = _interval("The 95 % interval of kappa by the same formula; null: none.")
    reasons = _words("Why a figure is not defined, by the name of the figure.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        counted = {name: serializers.IntegerField(allow_null=True, help_text=OF_CELLS[name]) for name in CELLS}
        return {**super().get_fields(), **counted, **{name: _figure(MEANINGS[name]) for name in self.names}}


class PairOutput(FiguresOutput):
    """Two coders on one code."""

    a = serializers.CharField(help_text="The first coder.")
    b = serializers.CharField(help_text="The second coder.")
    clusters = serializers.IntegerField(help_text="Turns in which both decided a unit.")
    mark = serializers.ChoiceField(list(Mark), allow_null=True, help_text=OF_MARK)

    class Meta:
        ref_name = "PairAgreement"


class CodeOutput(FiguresOutput):
    """All coders on one code."""

    names = tuple(CODE_FIGURES)

    code = serializers.CharField(help_text="Id of the code.")
    name = serializers.CharField(help_text="Its name.")
    uses = serializers.IntegerField(help_text="How often it was applied to units that two or more coders decided.")
    turns = serializers.IntegerField(
        help_text="Number of turns in which a coder applied it, on which the verdict is based."
    )
    mark = serializers.ChoiceField(list(Mark), allow_null=True, help_text=OF_MARK)
    cautions = serializers.ListField(child=serializers.CharField(), help_text="Whether it was applied nearly always.")
    fleiss_raters = serializers.IntegerField(
        allow_null=True, help_text="The number of coders per unit for which Fleiss' kappa is computed."
    )
    fleiss_units = serializers.IntegerField(help_text="Number of units decided by exactly this number of coders.")
    intervals = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="The 95 % interval over resampled turns, by the name of the figure.",
    )
    no_interval = _words("Why a defined figure has no interval, by the name of the figure.")
    pairs_averaged = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="For a mean over pairs of coders: for how many pairs the figure is defined.",
    )
    pairs = serializers.ListField(child=PairOutput(), help_text="The same for each pair of coders.")

    class Meta:
        ref_name = "CodeAgreement"


class MeasureView(StudyView):
    """What the operations on figures share."""

    permission = Permission.SEE_ALL_CODINGS


class ReadAgreement(MeasureView):
    """How often coders apply the same codes of a family, measured on blind labels, as its page shows it.

    There are no figures for a family that is coded by reflexive thematic analysis. If you code, the figures cover the interviews
    that you have unblinded.
    """

    class Query(Parameters):
        """Which labels are compared."""

        family = serializers.CharField(
            required=False,
            max_length=100,
            help_text="Id of the code family; if not sent, the first family whose method allows agreement to be measured.",
        )
        round = Numeral(
            required=False, min_value=1, help_text="Number of a round: only its interviews and coders are included."
        )
        model = serializers.CharField(
            required=False,
            max_length=200,
            help_text=(
                "Label of a model: only interviews with it; - for unknown models, * for all models together. If not sent, the "
                "model with the most units that two or more coders decided."
            ),
        )
        coders = serializers.CharField(
            required=False, max_length=2_000, help_text="Names of coders, separated by commas; if not sent, all."
        )
        first_version = Numeral(required=False, min_value=1, help_text="Only labels since this codebook version.")
        last_version = Numeral(required=False, min_value=1, help_text="Only labels up to this codebook version.")
        seed = Numeral(
            required=False, min_value=0, max_value=MAX_SEED, help_text="Seed of the resamples; if not sent, 1."
        )

    class Output(serializers.Serializer[Any]):
        """Agreement on a family. Figures that are not shown are null."""

        family = serializers.CharField(help_text="Id of the family.")
        name = serializers.CharField(help_text="Its name.")
        unit = serializers.CharField(help_text="The unit to which its codes are applied, and which is compared.")
        method = serializers.ChoiceField(Method.choices, help_text="The method of the family in this study.")
        blinding = serializers.ChoiceField(Blinding.choices, help_text="Which labels count: always blind ones.")
        codebook_version = serializers.IntegerField(
            help_text="Number of the codebook version to which these codes belong."
        )
        not_shown = serializers.CharField(allow_null=True, help_text="Why there are no figures; null if there are.")
        interviews = serializers.IntegerField(
            allow_null=True, help_text="The number of interviews in which two or more coders decided."
        )
        hidden_interviews = serializers.IntegerField(
            allow_null=True, help_text="How many of those are left out until you unblind them on a page of the study."
        )
        coders = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="Who is compared.")
        units = serializers.IntegerField(allow_null=True, help_text="Units that a person decided.")
        units_shared = serializers.IntegerField(allow_null=True, help_text="Units that two or more people decided.")
        models = serializers.DictField(
            child=serializers.IntegerField(),
            allow_null=True,
            help_text="The models in these interviews, each with its units; several models are pooled.",
        )
        clusters = serializers.IntegerField(allow_null=True, help_text="Turns that these are in.")
        mark = serializers.ChoiceField(list(Mark), allow_null=True, help_text=OF_MARK)
        seed = serializers.IntegerField(allow_null=True, help_text="Seed of the resamples.")
        resamples = serializers.IntegerField(
            allow_null=True, help_text="Number of resamples of turns for the intervals."
        )
        codes = serializers.ListField(child=CodeOutput(), allow_null=True, help_text="The codes, in their order.")
        mean_jaccard = _figure("Mean Jaccard index of the sets of codes.")
        mean_jaccard_excluding_empty = _figure("The same without units to which neither coder applied a code.")
        exact_match = _figure("Share of units with exactly the same codes.")
        intervals = serializers.DictField(
            child=serializers.ListField(child=serializers.FloatField()),
            allow_null=True,
            help_text="The 95 % intervals of these three over resampled turns.",
        )
        reasons = serializers.DictField(
            child=serializers.CharField(), allow_null=True, help_text="Why one of them is not defined."
        )
        no_interval = serializers.DictField(
            child=serializers.CharField(), allow_null=True, help_text="Why one of them has no interval."
        )

        class Meta:
            ref_name = "Agreement"

    def get(self, request: Request, slug: str) -> Response:
        asked = PageRequest(self.study, self._read_selection(), prefer=NOT_REFLEXIVE, is_of_figures=True)
        selection = asked.selection
        if selection is None:
            if not asked.families:
                raise Http404(NO_CODEBOOK)
            raise InvalidParameters(_list_errors(asked.form))
        fields: dict[str, object] = dict.fromkeys(self.Output().fields)
        fields |= {
            "family": selection.family.identifier,
            "name": selection.family.name,
            "unit": selection.family.unit,
            "method": asked.method,
            "blinding": Blinding.BLIND,
            "codebook_version": selection.family.version.number,
        }
        if asked.method == Method.REFLEXIVE:
            return self.answer(fields | {"not_shown": IS_REFLEXIVE})
        visible = MeasuredReadings(self.viewer, asked)
        fields |= {"interviews": visible.shared, "hidden_interviews": len(visible.blinded)}
        if visible.is_hidden:
            return self.answer(fields | {"not_shown": IS_HIDDEN})
        measured = report.measure(selection, visible.table, seed=asked.form.chosen_seed)
        whole = measured["agreement"].as_dict()
        rows = [_describe_code(row) for row in measured["rows"]]
        fields |= {name: whole[name] for name in whole if name in fields}
        return self.answer(fields | {"codes": rows, "models": visible.models})

    def _read_selection(self) -> QueryDict:
        """The parameters in the form in which the page's form takes them."""
        data = QueryDict(mutable=True)
        for name, value in self.query.items():
            data[name] = str(value)
        if data.get("model") == "-":
            data["model"] = NOT_KNOWN
        if "coders" in data:
            names = self.query["coders"].split(",")
            known = {user.username: str(user.pk) for user in list_coders(self.study)}
            unknown = [name for name in names if name not in known]
            if unknown:
                raise InvalidParameters({"coders": ["No coder of this study has one of these names."]})
            data.setlist("coders", [known[name] for name in names])
        return data


class ReadComparedModels(StudyView):
    """A comparison of models by their answers to questions that several models were asked in the same words, as on the page
    *Models compared*. It covers codings that you may see, in interviews that are not hidden from you."""

    class Query(Parameters):
        """What is compared, and whose codings."""

        family = serializers.CharField(
            required=False,
            max_length=100,
            help_text=f"Id of a code family, or {THEMES}; if not sent, the first family.",
        )
        coder = serializers.CharField(
            required=False,
            max_length=150,
            help_text="A user name, me, or all (each person's codings, compared with her own). If not sent: your own if you "
            "code, else all.",
        )
        blinding = Choice(
            [each.value for each in BlindingChoice],
            default=BlindingChoice.BLIND.value,
            help_text="blind: codings made before others' labels were seen; any: all active ones.",
        )

    class Output(serializers.Serializer[Any]):
        """Every pair of models, by every code or theme that one of them has."""

        family = serializers.CharField(help_text=f"Id of the family, or {THEMES}.")
        coder = serializers.CharField(help_text="Whose codings: me, all, or a user name.")
        blinding = serializers.CharField(help_text="blind or any.")
        interviews = serializers.IntegerField(help_text="Interviews with a known model.")
        left_out = serializers.IntegerField(
            help_text="Interviews whose model is not known, or that continue another interview."
        )
        models = serializers.ListField(child=serializers.CharField(), help_text="Their models.")
        asked = serializers.IntegerField(help_text="Questions that two or more models were asked in the same words.")
        comparisons = serializers.JSONField(
            help_text="One row for each pair and code; docs/reference/api.md describes it."
        )
        unused = serializers.IntegerField(help_text="Codes or themes that none of the compared answers has.")
        why = serializers.CharField(allow_blank=True, help_text="Why there is nothing to compare; may be empty.")
        notes = serializers.ListField(
            child=serializers.CharField(),
            help_text="Pairs without a common question, and how to read the figures of reflexive codes.",
        )

        class Meta:
            ref_name = "ComparedModels"

    def get(self, request: Request, slug: str) -> Response:
        asked = {"coder": self.query.get("coder", ""), "blinding": self.query["blinding"]}
        viewpoint = choose_viewpoint(self.viewer, **asked)
        try:
            return self.answer(compare_models(viewpoint, find_family(viewpoint, self.query.get("family", ""))))
        except Refused as error:
            raise InvalidParameters({"family": [str(error)]}) from error


class ListAnnotators(MeasureView):
    """The machine annotators of a study, newest first."""

    class Output(serializers.Serializer[Any]):
        """A machine annotator. Any change of model, prompt or codebook version makes another one."""

        id = serializers.IntegerField(source="annotator.pk", help_text="Its number on this site.")
        name = serializers.CharField(source="annotator.name", help_text="Its name.")
        number = serializers.IntegerField(
            source="annotator.number", help_text="Its number among the annotators of this name, from 1."
        )
        kind = serializers.ChoiceField(Annotator.Kind.choices, source="annotator.kind", help_text="What annotates.")
        model = serializers.CharField(
            source="annotator.variant.label",
            default=None,
            allow_null=True,
            help_text="Label of its model; null: it has none.",
        )
        mode = serializers.ChoiceField(
            ANNOTATOR_MODES, source="annotator.mode", help_text="What one of its calls is about."
        )
        reads_latent = serializers.BooleanField(
            source="annotator.reads_latent", help_text="Whether it annotates latent meaning too."
        )
        codebook_version = serializers.IntegerField(
            source="annotator.version.number", help_text="Number of the codebook version it was given."
        )
        prompt_version = serializers.CharField(
            source="annotator.prompt_version",
            help_text="Version of the wording used for its instructions; may be empty.",
        )
        hash = serializers.CharField(
            source="annotator.hash", help_text="Hash of everything that determines its labels; may be empty."
        )
        answers = serializers.IntegerField(help_text="How many calls it has answered.")
        interviews = serializers.IntegerField(help_text="How many interviews it has annotated without calls.")
        chosen_for = serializers.ListField(
            child=serializers.CharField(), help_text="Ids of the codes it is chosen for in this study."
        )
        created_at = serializers.DateTimeField(source="annotator.created_at", help_text="When it was created.")

        class Meta:
            ref_name = "Annotator"

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(list_annotators(self.study))


class EstimateOutput(serializers.Serializer[Any]):
    """A share or a coefficient. Null: not defined."""

    value = serializers.FloatField(allow_null=True, help_text="The figure.")
    interval = _interval("Its 95 % interval by formula; null: none.")
    interval_turns = _interval("Its 95 % interval over resampled turns; null: none.")
    n = serializers.IntegerField(allow_null=True, help_text="Its denominator.")
    reason = serializers.CharField(help_text="Why it is not defined; else empty.")

    class Meta:
        ref_name = "CalibrationFigure"


class CalibratedCode(serializers.Serializer[Any]):
    """An annotator's labels for one code, compared with people's."""

    code = serializers.CharField(help_text="Id of the code.")
    name = serializers.CharField(help_text="Its name.")
    labels = serializers.IntegerField(help_text="People's blind labels that are compared.")
    units = serializers.IntegerField(help_text="Number of sentences with these labels.")
    turns = serializers.IntegerField(help_text="Turns these are in.")
    coders = serializers.IntegerField(help_text="How many people gave these labels.")
    tp = serializers.IntegerField(help_text="Labels where the machine and the person applied it.")
    fp = serializers.IntegerField(help_text="Labels where only the machine applied it.")
    fn = serializers.IntegerField(help_text="Labels where only the person applied it.")
    tn = serializers.IntegerField(help_text="Labels where neither applied it.")
    figures = serializers.DictField(
        child=EstimateOutput(),
        help_text="By name: precision, recall, specificity, f1, kappa, prevalence, machine_share, false_failure_rate, raw, pabak, "
        "ac1.",
    )
    people = serializers.DictField(
        child=EstimateOutput(),
        allow_null=True,
        help_text="On units that two or more people decided, by name: kappa and positive_agreement among people, and "
        "machine_kappa and machine_positive_agreement between each person and the machine; null: there are no such "
        "units.",
    )
    shared_units = serializers.IntegerField(help_text="How many such units there are.")
    pairs = serializers.IntegerField(help_text="How many pairs of people there are.")
    set_aside = serializers.DictField(
        child=serializers.IntegerField(), help_text="Labels that are not compared, by reason."
    )
    warnings = serializers.ListField(child=serializers.CharField(), help_text="Warnings about the figures.")

    class Meta:
        ref_name = "CalibratedCode"


class CalibratedQuestion(serializers.Serializer[Any]):
    """An annotator's answers to a question of the codes, compared with people's, on labels that both applied."""

    question = serializers.CharField(help_text="Key of the question, such as status.")
    text = serializers.CharField(help_text="Its words.")
    choices = serializers.ListField(child=serializers.CharField(), help_text="The answers that can be chosen.")
    counts = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Pairs of answers: the annotator's by row, a person's by column, in the order of choices.",
    )
    pairs = serializers.IntegerField(help_text="The number of these pairs.")
    equal = serializers.FloatField(
        allow_null=True, help_text="The share of pairs in which both answers are the same; null: there are no pairs."
    )
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's alpha, nominal; null: not defined.")
    unanswered = serializers.IntegerField(
        help_text="Labels that both applied and for which one of them gave no answer."
    )

    class Meta:
        ref_name = "CalibratedQuestion"


class CalibratedFamily(serializers.Serializer[Any]):
    """The codes of a family."""

    family = serializers.CharField(help_text="Id of the family.")
    name = serializers.CharField(help_text="Its name.")
    method = serializers.ChoiceField(MethodChoice.Method.choices, help_text="The method of the family in this study.")
    not_shown = serializers.CharField(allow_null=True, help_text="Why there are no figures; null if there are.")
    unit = serializers.CharField(
        help_text="The unit to which its codes are applied and on which they are counted: sentence or turn."
    )
    turns_of = serializers.CharField(help_text="Whose turns these are: model or interviewer; empty for sentences.")
    codes = serializers.ListField(child=CalibratedCode(), allow_null=True, help_text="Its codes; null: not shown.")
    questions = serializers.ListField(
        child=CalibratedQuestion(),
        allow_null=True,
        help_text="Questions with fixed answers that its codes ask of a turn, such as the status of a feature; null: not shown.",
    )

    class Meta:
        ref_name = "CalibratedFamily"


class ReadCalibration(MeasureView):
    """How accurate an annotator is, code by code, compared with blind human labels, as its page shows it.

    There are no figures for families that are coded by reflexive thematic analysis. If you code, the figures cover the interviews
    that you have unblinded.
    """

    class Query(Parameters):
        """Which labels are compared."""

        turns = Choice(
            ["all", "withheld"], default="all", help_text="withheld: only turns that never show suggestions."
        )
        critic = Choice(
            ["without", "with"], default="without", help_text="with: without the suggestions that a critic rejected."
        )
        seed = Numeral(
            required=False, min_value=0, max_value=MAX_SEED, help_text="Seed of the resamples; if not sent, 1."
        )

    class Output(serializers.Serializer[Any]):
        """The calibration of an annotator. Figures that are not shown are null."""

        annotator = serializers.IntegerField(help_text="Number of the annotator.")
        codebook_version = serializers.IntegerField(help_text="Number of the codebook version it was given.")
        turns = serializers.CharField(help_text="all, or withheld: the turns that are compared.")
        critic = serializers.CharField(help_text="with: without the suggestions that a critic rejected; without: all.")
        blinding = serializers.ChoiceField(Blinding.choices, help_text="Which labels of people count: only blind ones.")
        not_shown = serializers.CharField(allow_null=True, help_text="Why there are no figures; null if there are.")
        interviews = serializers.IntegerField(
            help_text="In how many interviews a person decided a sentence that the annotator also labelled."
        )
        hidden_interviews = serializers.IntegerField(
            help_text="How many of those are left out until you unblind them on a page of the study."
        )
        labels = serializers.IntegerField(
            allow_null=True, help_text="People's labels that are compared, counted once for each family."
        )
        units = serializers.IntegerField(allow_null=True, help_text="Number of sentences with these labels.")
        clusters = serializers.IntegerField(allow_null=True, help_text="Turns these are in.")
        seed = serializers.IntegerField(allow_null=True, help_text="Seed of the resamples.")
        resamples = serializers.IntegerField(
            allow_null=True, help_text="Number of resamples of turns for the intervals."
        )
        families = serializers.ListField(child=CalibratedFamily(), allow_null=True, help_text="Families of codes.")
        uncompared = serializers.ListField(
            child=serializers.CharField(), help_text="Names of codes that are no longer in any codebook."
        )

        class Meta:
            ref_name = "Calibration"

    def get(self, request: Request, slug: str, annotator_id: int) -> Response:
        annotators = Annotator.objects.filter(study=self.study).select_related("variant", "version")
        annotator = find_row(annotators, annotator_id, "annotator")
        chosen = {name: self.query[name] for name in ("turns", "critic")}
        data = QueryDict(mutable=True)
        data.update({name: value for name, value in chosen.items() if value in {"withheld", "with"}})
        data["seed"] = str(self.query.get("seed", ""))
        asked = read_asked(self.study, data, annotators=[annotator])
        compared = compare(self.viewer, annotator, **asked.scope)
        annotator.study = self.study
        fields: dict[str, object] = dict.fromkeys(self.Output().fields)
        fields |= {
            "annotator": annotator.pk,
            "codebook_version": annotator.version.number,
            **chosen,
            "blinding": BLINDING,
            "interviews": len(compared.interviews),
            "hidden_interviews": len(compared.blinded),
            "uncompared": compared.uncompared,
        }
        if compared.is_hidden:
            return self.answer(fields | {"not_shown": IS_HIDDEN})
        return self.answer(fields | _describe_calibration(asked, compared, self))


def _describe_calibration(asked: Asked, compared: Compared, view: MeasureView) -> dict[str, object]:
    measured = measure_calibration(asked, compared)
    methods = read_methods(view.study)
    families = [
        {
            "family": table["identifier"],
            "name": table["name"],
            "method": methods.find(table["identifier"]),
            "not_shown": IS_REFLEXIVE if asked.is_reflexive(table["identifier"]) else None,
            "unit": table["unit"],
            "turns_of": table["turns_of"],
            "codes": None if table["rows"] is None else [_describe_calibrated(row) for row in table["rows"]],
            "questions": None if table["rows"] is None else [_describe_question(each) for each in table["questions"]],
        }
        for table in measured["tables"]
    ]
    counted = {"labels": "n_labels", "units": "n_units", "clusters": "n_clusters"}
    drawn = {name: measured[name] for name in ("seed", "resamples")}
    return {"families": families, **drawn, **{name: measured[key] for name, key in counted.items()}}


def _describe_question(question: AskedQuestion) -> dict[str, object]:
    table = question.table
    return {
        "question": question.key,
        "text": question.label,
        "choices": table.choices,
        "counts": table.counts,
        "pairs": table.n,
        "equal": table.raw,
        "alpha": table.alpha,
        "unanswered": table.unanswered,
    }


def _describe_calibrated(row: CodeRow) -> dict[str, object]:
    found = row.figures
    people = found["people"]
    return {
        "code": row.code.identifier,
        "name": row.code.name,
        "labels": found["table"].n,
        "units": found["n_units"],
        "turns": found["n_turns"],
        "coders": found["n_coders"],
        **found["table"]._asdict(),
        "figures": {
            name: _describe_figure(each.figure) | {"interval": each.interval, "n": each.n}
            for name, each in found["figures"].items()
        },
        "people": people and {name: _describe_figure(people[name]) for name in OF_PEOPLE},
        "shared_units": people["n_units"] if people else 0,
        "pairs": people["pairs"] if people else 0,
        "set_aside": row.set_aside,
        "warnings": row.warnings,
    }


def _describe_figure(figure: Any) -> dict[str, object]:
    return {
        "value": figure.value,
        "interval": None,
        "interval_turns": figure.interval,
        "n": None,
        "reason": str(figure.reason),
    }


def _describe_code(row: Mapping[str, Any]) -> dict[str, object]:
    return {
        **row["figures"].as_dict(),
        "code": row["code"].identifier,
        "name": row["code"].name,
        "uses": row["uses"],
        "turns": row["turns"],
        "mark": row["mark"],
        "cautions": [words for name, words in CAUTIONS.items() if row[name]],
    }


def _list_errors(form: Form) -> dict[str, list[str]]:
    return {name: [str(sentence) for sentence in sentences] for name, sentences in form.errors.items()}
