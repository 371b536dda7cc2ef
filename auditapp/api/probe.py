"""The tables of a gender-cue probe."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.batches import ReportOutput, describe_reported
from auditapp.api.errors import InvalidParameters
from auditapp.api.inputs import Choice, Numeral, Parameters
from auditapp.api.views import StudyView, find_row
from auditapp.benchmarks.gender_cues.pure.tables import AXES
from auditapp.benchmarks.gender_cues.queries import KIND, ProbeIsOff, read_report, require_figures
from transcripts.refusals import Refused
from transcripts.studies.roles import Permission


class ReadProbeReport(StudyView):
    """Table 1 and Table 2 of a probe, as ``manage.py probe report --json`` prints them. No answer to a single text is there."""

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
            help_text="The coder whose codings make Table 2; if not sent, the one who coded most of what you may see.",
        )

    class Output(ReportOutput):
        """The report so far."""

        models = serializers.ListField(child=serializers.CharField(), help_text="Labels of the models; never pooled.")
        by_model = serializers.JSONField(
            help_text="`table1` and `table2` of each model; docs/reference/probe.md describes them. `table2` is null without "
            "rationales that you may see."
        )
        comparisons = serializers.JSONField(
            help_text="Two models under one condition, or two conditions of one model, on the texts that both were asked about: "
            "the first less the second. docs/reference/probe.md describes them."
        )
        coder = serializers.CharField(help_text="Whose codings make Table 2; may be empty.")
        tests = serializers.CharField(help_text="Which tests and intervals these are.")
        family = serializers.IntegerField(help_text="Number of P values in Table 1 that Holm's adjustment counts.")
        notes = serializers.ListField(
            child=serializers.CharField(),
            help_text="Which answers the rows of Table 1 are of: subsets chosen by the model's answer, abstentions left out.",
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
        probes = self.study.batches.filter(kind=KIND)
        batch = find_row(probes, batch_id, "probe")
        batch.study = self.study
        other = find_row(probes, self.query["other"], "probe") if self.query.get("other") else None
        try:
            require_figures(self.study)
            asked = {"axis": self.query["axis"], "coder": self.query.get("coder", "")}
            report, _ = read_report(batch, user=self.person, other=other, **asked)
        except ProbeIsOff as error:
            raise PermissionDenied(str(error)) from error
        except Refused as error:
            raise InvalidParameters({"coder": [str(error)]}) from error
        return self.answer({**report, **describe_reported(batch)})
