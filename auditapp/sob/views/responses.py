"""The answers behind a number, as a page and as a file: the same address, the same choice."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.batches.models import Batch
from auditapp.sob import queries
from auditapp.sob.answer_keys import RULES, Choice, choose_arms
from auditapp.sob.answer_rows import write_answers
from auditapp.sob.answers import COUNTED_TO, LOOKED_THROUGH, iterate_answers, read_page
from auditapp.sob.mappings import find_mapping
from auditapp.sob.measures.harms import Harm
from auditapp.sob.metrics import OVERALL
from auditapp.sob.models import Reading
from auditapp.sob.parsing import Outcome
from auditapp.sob.queries import AskedArm
from auditapp.sob.showing.figures import TASKS, Entry
from auditapp.sob.views.opening import Opened, find_batch, open_batch, read_choice
from transcripts.projects.access import LARGEST_ID, ProjectRequest, project_view
from transcripts.projects.roles import Permission

FILTERS = ("model", "task", "target", "outcome", "layer", "value", "harm", "repeat", "text")
IN_A_CELL = frozenset({"model", "task", "target", "outcome"})
LAYERS = (RULES, *Reading.Layer.values)


@require_safe
@project_view(Permission.VIEW)
def list_responses(request: ProjectRequest, batch_id: int) -> HttpResponse:
    """The answers behind a number: what was made of each, the text and the answer as it came on demand."""
    opened = open_batch(find_batch(request, batch_id))
    asked = read_choice(request, *FILTERS)
    choice = _read_filters(asked, opened.batch, opened.arms)
    cells = _find_cells(opened, asked)
    page = read_page(
        choice,
        after=_read_number(request, "after"),
        before=_read_number(request, "before"),
        known_count=_count_in_cells(cells, asked["outcome"]),
    )
    context = {
        **opened.describe("responses"),
        "chosen": asked,
        "page": page,
        "cell": cells[0] if cells and len(cells) == 1 and not asked["outcome"] else None,
        "counted_to": COUNTED_TO,
        "looked_through": LOOKED_THROUGH,
        "outcomes": [str(outcome) for outcome in Outcome],
        "layers": LAYERS,
        "harms": [(str(harm), harm.words) for harm in Harm],
        "models": list(dict.fromkeys(arm.model for arm in opened.arms)),
        "tasks": list(dict.fromkeys(arm.task for arm in opened.arms)),
        "targets": _list_targets(opened),
        "repeats": opened.batch.parameters.get("repeats", 1),
        "query": request.GET.urlencode(),
    }
    return render(request, "sob/responses.html", context)


@require_safe
@project_view(Permission.EXPORT)
def download_responses(request: ProjectRequest, batch_id: int) -> StreamingHttpResponse:
    """The answers of the same choice as CSV. Texts and answers as they came only with ``texts=1``."""
    batch = find_batch(request, batch_id)
    choice = _read_filters(read_choice(request, *FILTERS), batch, queries.read_arms(batch))
    lines = write_answers(iterate_answers(choice), with_texts=request.GET.get("texts") == "1")
    headers = {"Content-Disposition": f'attachment; filename="sob-batch-{batch.pk}-answers.csv"'}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


def _read_filters(asked: dict[str, str], batch: Batch, arms: list[AskedArm]) -> Choice:
    return Choice(
        batch,
        arms=choose_arms(arms, model=asked["model"], task=asked["task"]),
        target=asked["target"],
        outcome=asked["outcome"],
        layer=asked["layer"],
        value=asked["value"],
        harm=asked["harm"],
        repeat=_find_number(asked["repeat"]),
        text=_find_number(asked["text"]),
        mapping=find_mapping(batch.project),
    )


def _read_number(request: HttpRequest, name: str) -> int | None:
    return _find_number(request.GET.get(name, ""))


def _find_number(value: str) -> int | None:
    """A key from an address; ``None`` for what is none."""
    if not (value.isascii() and value.isdigit()) or len(value) > len(str(LARGEST_ID)):
        return None
    return int(value) if int(value) <= LARGEST_ID else None


def _find_cells(opened: Opened, asked: dict[str, str]) -> list[Entry] | None:
    """The cells of the report whose answers are shown; ``None`` where a report has no such cells."""
    if opened.figures is None or any(asked[name] for name in FILTERS if name not in IN_A_CELL):
        return None
    wanted = {name: asked[name] for name in ("model", "task") if asked[name]}
    cells = opened.figures.find("cells", target=asked["target"] or OVERALL, **wanted)
    # Answers to the base task are in no cell.
    asked_arms = choose_arms(opened.arms, model=asked["model"], task=asked["task"])
    return cells if {arm.task for arm in asked_arms} <= set(TASKS) else None


def _count_in_cells(cells: list[Entry] | None, outcome: str) -> int | None:
    if cells is None:
        return None
    return sum(int(cell["outcomes"].get(outcome, 0) if outcome else cell["n_responses"]) for cell in cells)


def _list_targets(opened: Opened) -> list[Any]:
    if opened.figures and opened.figures.targets:
        return list(opened.figures.targets)
    return list(queries.count_targets(opened.dataset)) if opened.dataset else []
