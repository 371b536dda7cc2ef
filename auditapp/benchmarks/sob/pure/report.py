"""The one report that every page, file and command reads, computed from tallies alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from auditapp.benchmarks.sob.pure.answer_words import LEXICON_VERSION, OVERALL, Outcome
from auditapp.benchmarks.sob.pure.attributions import AttributionTally, Place, Rule, list_mapping
from auditapp.benchmarks.sob.pure.cautions import (
    CAVEATS,
    describe_cut_off,
    find_base_alarm,
    list_alarms,
    list_base_alarms,
    write_notice,
)
from auditapp.benchmarks.sob.pure.instruments import TARGETS, published_rows, published_source
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION, VERDICTS
from auditapp.benchmarks.sob.pure.ranks import (
    MIN_TARGETS,
    Scores,
    compare_conover,
    compare_models,
    compare_nemenyi,
    compare_targets,
    merge_families,
    rank_blocks,
)
from auditapp.benchmarks.sob.pure.scores import (
    CELL_FIELDS,
    GroupTable,
    ItemMatrix,
    Tallies,
    score_tallies,
    share_readers,
)
from auditapp.benchmarks.sob.pure.secondary import (
    contrast_secondary,
    draw_social_map,
    list_harms,
    list_top_values,
    score_secondary,
    spread_repeats,
    vary_rules,
)

REPORT_VERSION = "12"

FEW_TEXTS = 20
"""A target with fewer texts gets a warning."""
MAX_NAMED = 5
"""The most undefined cells that a warning names."""

PUBLISHED_FAMILIES = {
    "gpt5.1-I": "gpt",
    "gpt5.1-T": "gpt",
    "sonnet4.6-I": "sonnet",
    "sonnet4.6-T": "sonnet",
    "qwen35b-I": "qwen",
    "qwen35b-T": "qwen",
    "olmo32b-I": "olmo",
    "olmo32b-T": "olmo",
}
"""The published variants that share weights; each of the others is a family by itself."""

PUBLISHED_PAIRS = tuple((f"{name}-I", f"{name}-T") for name in ("gpt5.1", "sonnet4.6", "qwen35b", "olmo32b"))
"""The published variants without and with reasoning."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The settings with which a report is computed. The report names all of them.

    ``targets`` selects and orders the targets of cells and statistics; without it, statistics are over the ten of the paper if all
    occur, otherwise over those with at least ``least_texts`` texts. ``families`` maps a model's label to that of its family;
    ``pairs`` are (instruct, reasoning) labels, which are marked among all pairs of models. ``instruments``, ``targets_name`` and
    ``mapping_name`` say how the tallies were made; ``warnings`` are sentences of the caller, which come first.
    ``providers`` maps a model's label to its provider; ``notices`` are the caller's caveats for everything that is exported;
    ``invented_interpretations`` is the number of those by a fake formatter. ``limits`` maps a model's label to the token limit for
    an answer, if one was set.
    """

    seed: int = 42
    resamples: int = 2000
    flips: int = 10_000
    targets: tuple[str, ...] | None = None
    least_texts: int = 20
    top_k: int = 5
    families: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = ()
    instruments: tuple[str, ...] = ()
    targets_name: str = "as loaded"
    mapping_name: str = "published"
    parser: str = PARSER_VERSION
    lexicon: str = LEXICON_VERSION
    warnings: tuple[str, ...] = ()
    providers: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    invented_interpretations: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)


def build_report(tallies: Tallies, *, options: ReportOptions) -> dict[str, Any]:
    """Every measure of the tallies, unrounded and ready for JSON: None means undefined, which is not the same as 0.

    ``friedman`` has one test per task with models as blocks, ``friedman_families`` with families as blocks. ``mapping`` has one row
    per cell, by any value of the list; ``mapping_all`` is by every value. ``caveats`` must be read with the figures, ``notice`` has
    the caveats of these answers in one text, and ``alarms`` names the scores that must not be treated as findings.
    """
    seed, resamples, targets = options.seed, options.resamples, options.targets
    table = GroupTable(tallies.groups)
    cells = score_tallies(tallies, table, seed=seed, resamples=resamples, targets=targets)
    base = count_verdicts(tallies.verdicts)
    for entry in [*cells, *base]:
        entry["output_limit"] = options.limits.get(entry["model"])
    items: dict[Place, int] = {}
    for cell in cells:
        for model in (cell["model"], None):
            place = Place(model, cell["task"], cell["target"])
            items[place] = max(items.get(place, 0), cell["n_items"] or 0)
    texts = _count_texts(tallies.matrices)
    compared, sentence = choose_targets(texts, options)
    friedman, friedman_families, posthoc = _test_targets(
        _group_scores(cells), compared, options.families, _warn_of_few(texts, compared)
    )
    parts = {
        "notice": write_notice(
            cells,
            providers=options.providers.values(),
            notices=options.notices,
            invented=options.invented_interpretations,
        ),
        "alarms": [*list_alarms(cells), *list_base_alarms(base)],
        "providers": options.providers,
        "versions": _name_versions(options),
        "cells": cells,
        "friedman": friedman,
        "friedman_families": friedman_families,
        "posthoc": posthoc,
        "paired": compare_models(
            tallies.matrices, targets=compared, seed=seed, flips=options.flips, reasoning=options.pairs
        ),
        "sensitivity": vary_rules(table, targets=targets),
        "repeats": spread_repeats(tallies.repeats, table, targets=targets),
        "secondary": score_secondary(tallies.matrices, seed=seed, resamples=resamples),
        "secondary_contrast": contrast_secondary(tallies.matrices, seed=seed, resamples=resamples),
        "top_values": list_top_values(tallies.attributions, options.top_k, targets=targets),
        "mapping": list_mapping(tallies.attributions, targets=targets, texts=items),
        "mapping_all": list_mapping(tallies.attributions, targets=targets, rule=Rule.ALL, texts=items),
        "harms": list_harms(tallies.attributions, targets=targets),
        "social_map": draw_social_map(tallies.attributions, targets=targets),
        "readers": share_readers(tallies.groups),
        "base": base,
        "warnings": [
            *options.warnings,
            *([sentence] if cells else []),
            *_warn_of_cells(cells),
            *_warn_of_strict(cells),
        ],
        "caveats": CAVEATS,
    }
    return {name: make_json_ready(part) for name, part in parts.items()}


def published_report(options: ReportOptions | None = None) -> dict[str, Any]:
    """The statistics of the published Table 4 (arXiv 2606.17506), in the same shape as any other report.

    Its scores have two decimals, so ties may differ from those in the authors' unrounded figures. Figures that were not published
    are None in the cells.
    """
    options = options or ReportOptions()
    cells = []
    for row in published_rows():
        for target, sob in {OVERALL: row.overall, **{target: row.by_target[target] for target in TARGETS}}.items():
            cell = {"model": row.model, "task": row.task, "target": target, "sob": sob}
            rate = row.attribution_rate if target == OVERALL else None
            cells.append(dict.fromkeys(CELL_FIELDS) | cell | {"attribution_rate": rate})
    friedman, friedman_families, posthoc = _test_targets(_read_published(), TARGETS, PUBLISHED_FAMILIES, ())
    printed = f"Published figures as printed, with two decimals: {published_source()}."
    parts = {
        **build_report(Tallies(Counter(), {}, {}, AttributionTally()), options=options),
        "providers": {},
        "versions": _name_versions(options) | {"targets": "published", "instrument": ["paper"]},
        "cells": cells,
        "friedman": friedman,
        "friedman_families": friedman_families,
        "posthoc": posthoc,
        "warnings": [*options.warnings, printed, "Statistics are over the ten targets of the paper."],
    }
    return {name: make_json_ready(part) for name, part in parts.items()}


def rank_published() -> dict[str, dict[str, float]]:
    """The mean rank of each target in the published Table 4 (arXiv 2606.17506), by task."""
    return {task: rank_blocks(scores, TARGETS).mean_ranks for task, scores in _read_published().items()}


def _read_published() -> dict[str, dict[str, Mapping[str, float]]]:
    scores: dict[str, dict[str, Mapping[str, float]]] = {}
    for row in published_rows():
        scores.setdefault(row.task, {})[row.model] = row.by_target
    return scores


def relate_published(models: Collection[str], options: ReportOptions) -> ReportOptions:
    """The options with the families and pairs of the published variants, if all models have labels of published variants."""
    known = {row.model for row in published_rows()}
    if not models or not known.issuperset(models):
        return options
    families = {model: family for model, family in PUBLISHED_FAMILIES.items() if model in models}
    pairs = tuple(pair for pair in PUBLISHED_PAIRS if set(pair) <= set(models))
    return replace(options, families=families, pairs=pairs)


def choose_targets(texts: Mapping[str, int], options: ReportOptions) -> tuple[tuple[str, ...], str]:
    """The targets of the statistics, and a sentence that says which they are and why.

    They are those that were asked for, or else the ten of the paper if all occur, or else those with enough texts.

    If fewer than three have enough texts, all are taken: a test with a warning says more than no test.
    """
    if options.targets is not None:
        return options.targets, "Statistics are over the targets that were asked for."
    if all(texts.get(target) for target in TARGETS):
        return TARGETS, "Statistics are over the ten targets of the paper."
    least = options.least_texts
    ordered = sorted(texts, key=lambda each: (-texts[each], each))
    large = tuple(each for each in ordered if texts[each] >= least)
    if len(large) >= MIN_TARGETS:
        sentence = f"statistics are over the {len(large)} targets with at least {least} texts."
    else:
        large = tuple(ordered)
        sentence = f"fewer than {MIN_TARGETS} targets have at least {least} texts, so statistics are over all {len(large)} targets."
    return large, f"Not all ten targets of the paper occur: {sentence}"


def count_verdicts(verdicts: Mapping[tuple[str, str, str], int]) -> list[dict[str, object]]:
    """Answers to the base task by model and target, overall first (method brief R36).

    ``denominator`` counts the answers with a verdict; ``n_responses`` counts all answers, and ``n_refused`` refusals. ``outcomes``
    has the counts that the sentence of an alarm needs; ``alarm`` is one of ``Alarm``.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for (model, target, verdict), count in verdicts.items():
        for place in (OVERALL, target) if target else (OVERALL,):
            counts.setdefault((model, place), Counter())[verdict] += count
    models = dict.fromkeys(model for model, _ in counts)
    order = sorted(counts, key=lambda key: (key[1] != OVERALL, -counts[key].total(), key[1]))
    return [
        {"model": model, "target": target, **_sum_verdicts(counts[model, target])}
        for model in models
        for of, target in order
        if of == model
    ]


def _sum_verdicts(count: Counter[str]) -> dict[str, object]:
    given = {verdict: count[verdict] for verdict in VERDICTS}
    came, refused = count.total() - count[Outcome.PROVIDER_ERROR], count[Outcome.REFUSAL]
    return {
        "n_responses": count.total(),
        "n_refused": refused,
        "denominator": sum(given.values()),
        **given,
        "outcomes": {str(outcome): count[outcome] for outcome in (Outcome.TRUNCATED, Outcome.PROVIDER_ERROR)},
        "alarm": find_base_alarm(given, came=came, refused=refused),
    }


def _test_targets(
    scores: Mapping[str, Scores], targets: Sequence[str], families: Mapping[str, str], warnings: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """For each task a test with models as blocks, its post-hoc tests, and a test with families as blocks if variants share one."""
    friedman: list[dict[str, Any]] = []
    of_families: list[dict[str, Any]] = []
    posthoc: list[dict[str, Any]] = []
    for task, by_model in scores.items():
        test = compare_targets(
            by_model, targets, task=task, warnings=[*_warn_of_families(by_model, families), *warnings]
        )
        friedman.append(test)
        if test["p"] is not None:
            ranked = rank_blocks(by_model, targets)
            posthoc += [compare_nemenyi(ranked, task=task), compare_conover(ranked, task=task)]
        merged = merge_families(by_model, families)
        if len(merged) < len(by_model):
            of_families.append(compare_targets(merged, targets, task=task, blocks="families", warnings=warnings))
    return friedman, of_families, posthoc


def _group_scores(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, float | None]]]:
    scores: dict[str, dict[str, dict[str, float | None]]] = {}
    for cell in cells:
        scores.setdefault(cell["task"], {}).setdefault(cell["model"], {})[cell["target"]] = cell["sob"]
    return scores


def _count_texts(matrices: Mapping[str, ItemMatrix]) -> dict[str, int]:
    """The number of texts per target, in the task that has the most of them."""
    texts: dict[str, int] = {}
    for matrix in matrices.values():
        for target, count in Counter(matrix.targets).items():
            if target:
                texts[target] = max(texts.get(target, 0), count)
    return texts


def _warn_of_few(texts: Mapping[str, int], targets: Sequence[str]) -> list[str]:
    few = [f"{target} ({texts.get(target, 0)})" for target in targets if texts.get(target, 0) < FEW_TEXTS]
    return [f"Targets with fewer than {FEW_TEXTS} texts have unstable scores: {', '.join(few)}."] if few else []


def _warn_of_families(scores: Scores, families: Mapping[str, str]) -> list[str]:
    members: dict[str, list[str]] = {}
    for model in scores:
        members.setdefault(families.get(model, model), []).append(model)
    related = sorted(" and ".join(sorted(each)) for each in members.values() if len(each) > 1)
    if not related:
        return []
    return [
        f"Variants of one model are not independent blocks: {'; '.join(related)}. See the test with families as blocks."
    ]


def _warn_of_cells(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    undefined = [
        f"{cell['model']}, {cell['task']}, {cell['target']}{_explain_no_score(cell)}"
        for cell in cells
        if cell["n_responses"] and cell["sob"] is None
    ]
    if not undefined:
        return []
    listed = "; ".join(undefined[:MAX_NAMED]) + ("; …" if len(undefined) > MAX_NAMED else "")
    return [f"{len(undefined)} cells have no score, because no answer could be counted: {listed}."]


def _explain_no_score(cell: Mapping[str, Any]) -> str:
    """How many answers were cut off, if any, because a higher limit would solve this."""
    cut_off = describe_cut_off(cell)
    return f" ({cut_off.rstrip('.')})" if cut_off else ""


def _warn_of_strict(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """A warning if strict counting takes away half or more of a score over all texts: by itself such a score is not a finding."""
    apart = [
        f"{cell['model']}, {cell['task']} ({cell['sob']:.2f} against {cell['sob_strict']:.2f})"
        for cell in cells
        if cell["target"] == OVERALL and cell["countings_apart"]
    ]
    if not apart:
        return []
    listed = "; ".join(apart[:MAX_NAMED]) + ("; …" if len(apart) > MAX_NAMED else "")
    reason = "that part of what was named says nothing, or is none of the characteristics asked for"
    return [f"Paper and strict counting differ by half or more over all texts: {reason}. {listed}."]


def _name_versions(options: ReportOptions) -> dict[str, object]:
    return {
        "report": REPORT_VERSION,
        "parser": options.parser,
        "lexicon": options.lexicon,
        "instrument": list(options.instruments),
        "targets": options.targets_name,
        "mapping": options.mapping_name,
        "seed": options.seed,
        "resamples": options.resamples,
    }


def make_json_ready(value: Any) -> Any:
    """The value in a form that JSON allows: lists for tuples, and None for numbers that are not finite."""
    # The commonest types first: a report has hundreds of thousands of values.
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): make_json_ready(each) for key, each in value.items()}
    return [make_json_ready(each) for each in value] if isinstance(value, (list, tuple)) else value
