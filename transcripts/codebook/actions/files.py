"""A codebook that comes as a file: looked at first, then made a draft; and the codebook with which a study begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.codebook import files, queries
from transcripts.codebook.actions.storing import CodebookRefused, add_change, copy_examples, lock, store_examples
from transcripts.codebook.actions.versions import publish_version, seed_codebook, start_draft, store_version
from transcripts.codebook.models import Beginning, CodebookVersion, CodeChange, CodeExample, CodeFamily
from transcripts.codebook.pure.checking import find_problems
from transcripts.codebook.pure.comparing import FACTS, FROM_FAMILY, TEXTS, CodeDifference, Comparison, compare
from transcripts.codebook.queries import FoundQuote, find_quoted, next_number
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_rules import CodebookContent
from transcripts.studies.actions import create_study, set_method
from transcripts.studies.models import MethodChoice, Study

Kind, Effect = CodeChange.Kind, CodeChange.Effect
MAX_PROBLEMS = 20
MOVES = "moves"
MOVES_BY_RULES = "The default of every study: rules decide what a move is, so that codings of moves can be compared."


class ImportPlan(NamedTuple):
    """What a file would bring: ``comparison`` with the latest version, if there is one."""

    form: str
    latest: CodebookVersion | None
    before: CodebookContent
    content: CodebookContent
    comparison: Comparison
    examples: tuple[FoundQuote, ...]
    warnings: tuple[str, ...]

    @property
    def changes_meaning(self) -> list[CodeDifference]:
        """The codes whose words for people are others than before: what that does to their meaning is to be said."""
        return [code for code in self.comparison.codes if code.means_other and code.before and code.after]


def plan_import(*, study: Study, data: bytes, name: str, keep_missing: bool = False) -> ImportPlan:
    """What a CSV, JSON or .qdc file would bring; stores nothing.

    What the file does not say of a family or a code is as in the latest version; codes that are not in it are taken out
    unless ``keep_missing``. Raises ``CodebookRefused`` when anything in the file is wrong.
    """
    latest = queries.latest_version(study)
    before = queries.read_content(latest) if latest else CodebookContent()
    used = queries.used_identifiers(study)
    try:
        file = files.read_file(data, name=name, scope=study.slug, known=before, used=used)
    except CodebookFileError as error:
        unlisted = error.total - len(error.problems)
        more = [f"And {unlisted} more problems."] if unlisted else []
        raise CodebookRefused(str(error), [*map(str, error.problems), *more], error.note) from error
    content = files.fill_in(file, before, keep_missing=keep_missing)
    if problems := list(dict.fromkeys(problem.sentence for problem in find_problems(content))):
        more = [f"And {len(problems) - MAX_PROBLEMS} more."] if len(problems) > MAX_PROBLEMS else []
        message = f"{name}: {len(problems)} problems, nothing was imported."
        raise CodebookRefused(message, [*problems[:MAX_PROBLEMS], *more])
    examples = tuple(find_quoted(study, file.content.examples))
    lost = len(file.content.examples) - len(examples)
    left_out = [f"{lost} of its examples are not sentences of this study and were left out."] if lost else []
    return ImportPlan(
        *(file.form, latest, before, content, compare(before, content), examples, (*file.warnings, *left_out))
    )


@transaction.atomic
def import_codebook(
    *,
    study: Study,
    data: bytes,
    name: str,
    by: trail.Actor,
    effect: str = "",
    effects: Mapping[str, str] | None = None,
    keep_missing: bool = False,
    kept_back: bool = False,
) -> tuple[CodebookVersion, bool, tuple[str, ...]]:
    """A draft with the codes of a file, numbered after the latest version; that version when nothing differs.

    Returns it with whether it was made, and sentences on what was left out of the file. ``effect`` says what the new
    wordings do, ``effects`` what those of single codes do, by identifier; a code of which nothing is said counts as
    changed in meaning. Raises ``CodebookRefused`` when anything in the file is wrong; nothing is stored then. What is
    ``kept_back`` counts as discarded until ``publish_kept_back``.
    """
    lock(study)
    plan = plan_import(study=study, data=data, name=name, keep_missing=keep_missing)
    if plan.latest is not None and plan.before == plan.content and not _list_new(plan):
        return plan.latest, False, plan.warnings
    said = {code.identifier: (effects or {}).get(code.identifier) or effect for code in plan.changes_meaning}
    version = store_version(
        study,
        plan.content,
        number=next_number(study),
        title=plan.latest.title if plan.latest else study.name,
        origin=f"Imported from {name}",
        by=by,
        based_on=plan.latest,
        meanings=_find_meanings(plan, said),
        kept_back=kept_back,
    )
    _record_changes(version, plan.comparison, said, by=by)
    if plan.latest is not None:
        copy_examples(plan.latest, version)
    store_examples(version, _list_new(plan), by=by)
    return version, True, plan.warnings


def _find_meanings(plan: ImportPlan, said: Mapping[str, str]) -> dict[str, int]:
    """Since which version each code that stays means what it means; codes without one begin with this version."""
    if plan.latest is None:
        return {}
    known = dict(plan.latest.codes.values_list("identifier", "meaning_version"))
    return {name: number for name, number in known.items() if said.get(name, Effect.WORDING) == Effect.WORDING}


def _record_changes(
    version: CodebookVersion, comparison: Comparison, said: Mapping[str, str], *, by: trail.Actor
) -> None:
    """One row for each thing that the file did to a code."""
    for code in comparison.codes:
        name = code.identifier
        if code.is_added:
            add_change(version, Kind.ADDED, by=by, after=name)
        elif code.is_removed:
            add_change(version, Kind.RETIRED, by=by, before=name, reason="Not in the imported file.")
        for kind, effect in _list_kinds(code, said.get(name, Effect.WORDING)):
            add_change(version, kind, by=by, before=name, after=name, effect=effect)


def _list_kinds(code: CodeDifference, effect: str) -> Iterable[tuple[CodeChange.Kind, str]]:
    changed = code.changed
    if "name" in changed:
        yield Kind.RENAMED, Effect.WORDING
    if changed & {*TEXTS, *FROM_FAMILY}:
        yield Kind.REDEFINED, effect
    if "moved" in code.kinds:
        yield Kind.MOVED, Effect.WORDING
    if changed & {*FACTS, "key"}:
        yield Kind.ADJUSTED, Effect.WORDING


def _list_new(plan: ImportPlan) -> list[FoundQuote]:
    """The examples of the file that its codes do not have yet."""
    known: set[tuple[str, int | None, str]] = set()
    if plan.latest is not None:
        rows = CodeExample.objects.filter(code__version=plan.latest)
        known = set(rows.values_list("code__identifier", "sentence_id", "words"))
    there = {code.identifier for code in plan.content.codes}
    return [each for each in plan.examples if each[0] in there and each[:3] not in known]


@transaction.atomic
def start_study(
    *,
    slug: str,
    name: str,
    by: trail.Actor,
    description: str = "",
    codebook: str = Beginning.BUILT_IN,
    file: tuple[str, bytes] | None = None,
    method: str = MethodChoice.Method.REFLEXIVE,
) -> Study:
    """A new study: with the built-in codebook or that of a ``file`` (name and content) it can be coded at once.

    An empty codebook is a draft, to which codes are added before it is published. Unless another ``method`` is chosen, the study
    is read reflexively, but for the moves of the built-in codebook, which have rules that two people can apply alike; all of
    that can be switched. Raises ``Refused`` for a name or an address that cannot be used, ``CodebookRefused`` for a file
    that cannot be a codebook; there is no study then.
    """
    study = create_study(slug=slug, name=name, by=by, description=description)
    if codebook == Beginning.FILE and file is not None:
        version, _, _ = import_codebook(study=study, data=file[1], name=file[0], by=by)
        publish_version(version=version, by=by)
    elif codebook == Beginning.EMPTY:
        start_draft(study=study, by=by)
    else:
        seed_codebook(study=study, by=by)
    set_method(study=study, method=method, by=by)
    has_moves = CodeFamily.objects.filter(version__study=study, identifier=MOVES).exists()
    if has_moves and method == MethodChoice.Method.REFLEXIVE:
        set_method(study=study, family=MOVES, method=MethodChoice.Method.CODEBOOK, reason=MOVES_BY_RULES, by=by)
    return study
