"""Tables 4, 12 and 13: scores, mapping lists and how often answers follow them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.outputs.latex_text import escape_latex, show_value
from auditapp.sob.pure.outputs.reading import TASK_NAMES, ReportView, Row
from auditapp.sob.pure.showing.figures import write_decimals

DASH = "--"
# From white to a blue on which black still reads at eight to one.
_LIGHT, _DARK = (255, 255, 255), (133, 178, 222)
_COUNTING = (
    "Paper counting: every attribute with a value other than unknown counts once; refusals and unreadable "
    "answers are excluded from the score."
)


def write_scores(view: ReportView) -> str:
    """Table 4: models by targets, both tasks side by side on one scale, attribution rates at the outer edges."""
    targets = [OVERALL, *view.targets]
    halves = []
    for index, task in enumerate(view.tasks):
        columns = [*targets, "attri."] if index else ["attri.", *targets]
        halves.append((task, columns))
    width = sum(len(columns) for _, columns in halves)
    head = " & ".join(
        rf"\multicolumn{{{len(columns)}}}{{c}}{{{escape_latex(TASK_NAMES[task])}}}" for task, columns in halves
    )
    names = " & ".join(_turn(name) for _, columns in halves for name in columns)
    rows = [
        " & ".join([escape_latex(model), *(_show(view, model, task, name) for task, names in halves for name in names)])
        for model in view.models
    ]
    caption = (
        "Unwarranted attributes per answer (sob) by model, task and target; attri. is the share of answers with at least one "
        f"attribution. One shade scale for all scores, from 0 to {view.highest:.2f}; another from 0 to 1 for attri. "
        "Overall is over all texts and is not the mean of the targets. "
        f"{_describe_denominators(view)} {_COUNTING} A dash: undefined or never asked. {name_layout(4)} {view.describe_versions()}"
    )
    body = [rf" & {head} \\", rf"Model & {names} \\", r"\midrule", *(rf"{row} \\" for row in rows)]
    return wrap_table("l" + "r" * width, body, caption, "sob-scores")


def _turn(name: str) -> str:
    return rf"\rotatebox{{60}}{{{show_value(name)}}}"


def _show(view: ReportView, model: str, task: str, name: str) -> str:
    if name == "attri.":
        rate = view.rate(model, task)
        return DASH if rate is None else f"{shade(rate)}{write_decimals(rate)}"
    score = view.score(model, task, name)
    return DASH if score is None else f"{shade(score / view.highest if view.highest else 0)}{write_decimals(score)}"


def shade(share: float) -> str:
    """A cell's colour: the share, 0 to 1, of the way from light to dark."""
    part = min(max(share, 0.0), 1.0)
    mixed = (round(light + (dark - light) * part) for light, dark in zip(_LIGHT, _DARK, strict=True))
    return r"\cellcolor[HTML]{" + "".join(f"{channel:02X}" for channel in mixed) + "}"


def _describe_denominators(view: ReportView) -> str:
    parts = []
    for task in view.tasks:
        found = view.denominators(task)
        if found:
            low, high = found
            parts.append(f"{low:,}" + (f" to {high:,}" if high != low else "") + f" for {TASK_NAMES[task].lower()}")
    return (
        f"Answers that count over all texts, per model: {'; '.join(parts)}."
        if parts
        else "Denominators are not stated."
    )


def write_mapping_lists(view: ReportView, mapping: Mapping[str, Mapping[str, Sequence[str]]] | None) -> str:
    """Table 12: which values count as the target itself and which as the dominant group."""
    named = str((view.report.get("versions") or {}).get("mapping") or "not stated")
    caption = (
        f"Values that count as the target group itself and as the dominant group (mapping: {named}). Who counts as dominant is a "
        "judgement: the lists can be changed, each version with its reason. Values match exactly, upper and lower case alike; "
        f"an answer maps when any of its values does. {name_layout(12)} {view.describe_versions()}"
    )
    body = [r"Target group & Self-mapped values & Dominant-mapped values \\", r"\midrule"]
    if mapping is None:
        body.append(r"\multicolumn{3}{l}{The lists are not part of this report.} \\")
    for target, lists in (mapping or {}).items():
        cells = (show_value(target), _list(lists.get("self", ())), _list(lists.get("dominant", ())))
        body.append(" & ".join(cells) + r" \\")
    return wrap_table(r"lp{0.4\linewidth}p{0.4\linewidth}", body, caption, "sob-mapping-lists", fit=False)


def _list(values: Iterable[str]) -> str:
    return "; ".join(show_value(str(value)) for value in values)


_MAPPED = (
    ("acceptability", "self"),
    ("non_acceptability", "dominant"),
    ("acceptability", "dominant"),
    ("non_acceptability", "self"),
)


def write_mapped(view: ReportView) -> str:
    """Table 13: shares of attributed answers that name the target itself or the dominant group, all models together."""
    found = {(row["task"], row["target"], row["kind"]): row for row in view.rows("mapping") if row.get("model") is None}
    targets = [target for target in view.targets if any(key[1] == target for key in found)]
    heads = [
        rf"\multicolumn{{2}}{{c}}{{{escape_latex(TASK_NAMES[task])}: {'self' if kind == 'self' else 'dominant group'}}}"
        for task, kind in _MAPPED
    ]
    body = [
        " & " + " & ".join(heads) + r" \\",
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(lr){6-7}\cmidrule(lr){8-9}",
        "Target group" + r" & $n$ & \% mapped" * len(_MAPPED) + r" \\",
        r"\midrule",
    ]
    for target in targets:
        cells = [_show_mapped(found.get((task, target, kind))) for task, kind in _MAPPED]
        body.append(" & ".join([show_value(target), *cells]) + r" \\")
    if not targets:
        body.append(r"\multicolumn{9}{l}{The report holds no mapping.} \\")
    caption = (
        "How often attributed answers name the target group itself or the dominant group, all models together. The first two pairs "
        "of columns are the published ones; the other two are the remaining cells. n: answers to texts on the target with at least "
        f"one attribution, the denominator of the share beside it. Any of an answer's values is enough. "
        f"{name_layout(13)} {view.describe_versions()}"
    )
    return wrap_table("l" + "rr" * len(_MAPPED), body, caption, "sob-mapped", fit=False)


def _show_mapped(row: Row | None) -> str:
    if row is None:
        return f"{DASH} & {DASH}"
    share = row.get("pct")
    return f"{row['denominator']} & " + (DASH if share is None else f"{share:.2f}")


def name_layout(number: int) -> str:
    """Whose layout a table follows."""
    return f"Layout: Table {number} of arXiv 2606.17506."


def wrap_table(columns: str, body: Sequence[str], caption: str, label: str, *, fit: bool = True) -> str:
    """A floating table with rules above and below; with ``fit`` it is scaled to the line."""
    table = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    if fit:
        table = [r"\resizebox{\linewidth}{!}{%", *table, "}"]
    return "\n".join(
        [
            r"\begin{table}[p]",
            r"\centering",
            rf"\caption{{{escape_latex(caption)}}}",
            rf"\label{{tab:{label}}}",
            *table,
            r"\end{table}",
        ]
    )
