"""Exports of a study's probes, with figures about groups. They contain no review, no answer and no id of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.pure.outputs import FUNNEL, TABLE1, make_report
from auditapp.benchmarks.gender_cues.queries import KIND, find_latest, read_trials
from transcripts.exchange.rows import Export, Scope, column, columns
from transcripts.studies.roles import Permission

_MEANINGS = {
    "model": "Label of the model variant.",
    "condition": "control, primed or may_abstain.",
    "subset": "all; emotion (Emotion or Textual Style applied), none (no category applied), other (the rest). The last three are "
    "chosen by the model's own answer: a difference in them does not show an effect of a cue.",
    "n_woman": "Valid answers on texts whose name-inferred category is woman.",
    "n_man": "The same of man.",
    "predicted_woman_of_woman": "How many answers on women's texts predict a woman.",
    "predicted_woman_of_man": "How many answers on men's texts predict a woman.",
    "rate_woman": "Share of women's texts that are predicted to be by a woman, with Wilson's interval (95 %).",
    "rate_man": "Share of men's texts that are predicted to be by a woman, with Wilson's interval (95 %).",
    "difference": "The first share minus the second; with Newcombe's interval.",
    "chi2": "Pearson's chi-square, uncorrected.",
    "test": "The test that counts: Pearson where five or more are expected in each cell, else Fisher; none below ten texts of a "
    "category.",
    "p": "Its P.",
    "p_holm": "Its P value, adjusted over all tests of Table 1 of the batch (Holm).",
    "family": "How many tests these are.",
    "mark": "few or rough, if the smaller category has fewer than 10 or 20 texts.",
    "verdict": "The verdict that the chart on the page gives for the row.",
    "note": "How the answers of the row are chosen, and how many abstentions are left out.",
    "accuracy": "Share of right predictions among answers that make a prediction, without abstentions; with Wilson's interval.",
    "balanced_accuracy": "Mean of the shares of right predictions among women's and men's texts.",
    "degenerate": "Whether one label makes up more than 90 % of the predictions.",
    "invalid": "Answers that no rule can read; only in rows of the subset all, like the next four.",
    "refused": "Refusals.",
    "no_answer": "Empty answers, or none.",
    "abstained": "Abstentions, where the prompt allows them.",
    "not_scored": "Answers on texts whose category is androgynous or unknown.",
    "step": "Name of the rule; read: the content of the file.",
    "woman": "Texts of the name-inferred category woman.",
    "man": "Of man.",
    "androgynous": "Of androgynous.",
    "unknown": "Of unknown.",
    "total": "All of them.",
    "of_step_before": "Share of the texts of the previous step.",
    "of_first": "Share of the texts of the file.",
}


def _describe(name: str) -> str:
    for end, words in (("_low", "Lower end of the interval."), ("_high", "Upper end of it.")):
        if name.endswith(end):
            return words
    return _MEANINGS[name]


TABLE1_COLUMNS = [
    *columns(Batch, "study batch", batch="pk"),
    *(column(each.name, "", _describe(each.name), each.kind) for each in TABLE1.columns),
]
FUNNEL_COLUMNS = [
    *columns(ReviewSet, "study reviews category_method rules_sha256 seed", reviews="name"),
    *(column(each.name, "", _describe(each.name), each.kind) for each in FUNNEL.columns),
]


def read_table1(scope: Scope) -> Iterator[Sequence[object]]:
    """Table 1 of every probe of the study; empty if no owner has ever allowed the probe."""
    if find_latest(scope.study) is None:
        return
    for batch in scope.study.batches.filter(kind=KIND).order_by("pk"):
        for row in TABLE1.list_rows(make_report(read_trials(batch))):
            yield (scope.study.slug, batch.pk, *row)


def read_funnels(scope: Scope) -> Iterator[Sequence[object]]:
    """The funnels of every set of reviews; empty if no owner has ever allowed the probe."""
    if find_latest(scope.study) is None:
        return
    for reviews in ReviewSet.objects.filter(study=scope.study).order_by("pk"):
        about = (scope.study.slug, reviews.name, reviews.category_method, reviews.rules_sha256, reviews.seed)
        for row in FUNNEL.list_rows(reviews.funnel):
            yield (*about, *row)


CAVEAT = "Binary by the design that is replicated; no claim about persons; the error of the name method is unknown."
PROBE_TABLE1 = Export(
    key="probe_table1",
    name="Gender-cue probe, Table 1",
    sentence=f"How often texts by women and by men were predicted to be by a woman, with tests. {CAVEAT}",
    row="a probe's model, condition and subset of answers",
    columns=TABLE1_COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    is_narrowed=False,
    read_rows=read_table1,
)
PROBE_FUNNELS = Export(
    key="probe_funnels",
    name="Gender-cue probe, funnels",
    sentence=f"How many reviews each rule kept, by name-inferred category. {CAVEAT}",
    row="a step of the rules that winnowed a file of reviews",
    columns=FUNNEL_COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    is_narrowed=False,
    read_rows=read_funnels,
)
