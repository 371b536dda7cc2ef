"""Models compared on the questions that several were asked alike, as one person may see the codings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from django.db.models import Case, F, TextField, Value, When

from transcripts.analysis.models import ThemeVersion
from transcripts.analysis.themes.evidence import Viewpoint, active_codings, count_labels, seen_interviews
from transcripts.analysis.themes.pure.comparing import Answer, Readings, Row, Said, compare_models, read_answers
from transcripts.analysis.themes.pure.presence import Heading
from transcripts.analysis.themes.queries import current_themes, read_catalogue
from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Decision, Enactment
from transcripts.corpus.models import Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import MethodStance
from transcripts.studies.queries import read_stances

THEMES = "@themes"
"""In place of a family: the themes of the study. No family is called so, many are called themes."""
IS_REFLEXIVE = (
    "These codes are read by reflexive thematic analysis: a difference is one person’s reading of the answers, and P says nothing "
    "of how somebody else would read them."
)


def list_families(viewpoint: Viewpoint) -> list[tuple[str, str]]:
    """What models can be compared by: the families of codes about what models say, and themes where there are some."""
    families = read_catalogue(viewpoint.project).families
    found = [
        (each.identifier, each.name) for each, _ in families if each.applies_to != CodeFamily.AppliesTo.INTERVIEWER
    ]
    return [*found, *([(THEMES, "Themes of the study")] if current_themes(viewpoint.project) else [])]


def compare(viewpoint: Viewpoint, family: str) -> dict[str, Any]:
    """What ``compare_models`` gives of the codes of a family, or of the themes; with ``family``, ``coder`` and ``layer``;
    ``interviews``, how many name a model, and ``left_out``, how many hang on another or name none; and ``notes``."""
    rows = _list_rows(viewpoint, family)
    answers, known, left_out = _read_answers(viewpoint)
    found = compare_models(answers, rows, _read_readings(viewpoint, rows))
    apart = found.pop("apart")
    is_reflexive = read_stances(viewpoint.project).find(family) == MethodStance.Stance.REFLEXIVE
    return {
        "family": family,
        "coder": viewpoint.coder,
        "layer": viewpoint.layer.value,
        "interviews": known,
        "left_out": left_out,
        **found,
        "notes": [*apart, *([IS_REFLEXIVE] if is_reflexive and found["comparisons"] else [])],
    }


def find_family(viewpoint: Viewpoint, family: str) -> str:
    """The family that is asked for, or the first. Raises ``Refused`` where there is none of that name."""
    known = dict(list_families(viewpoint))
    if family and family not in known:
        raise Refused(
            f"There is no family {family!r} to compare models by. Choose one of: {', '.join(known)}.", field="family"
        )
    return family or next(iter(known), "")


def _list_rows(viewpoint: Viewpoint, chosen: str) -> list[Row]:
    families = read_catalogue(viewpoint.project).families
    family_of = {code.identifier: family for family, codes in families for code in codes}
    codes_of = {family.pk: frozenset(code.identifier for code in codes) for family, codes in families}
    if chosen == THEMES:
        themes = [each for each in current_themes(viewpoint.project) if each.state != ThemeVersion.State.DROPPED]
        headings = [Heading(str(each.theme.number), each.name, frozenset(each.codes)) for each in themes]
    else:
        codes = [code for family, own in families if family.identifier == chosen for code in own]
        headings = [Heading(code.identifier, code.name, frozenset({code.identifier})) for code in codes]
    rows = []
    for heading in headings:
        homes = {code: family_of[code] for code in heading.members if code in family_of}
        of_interviews = {code for code, family in homes.items() if family.unit == CodeFamily.Unit.INTERVIEW}
        # A code of interviews is stored on the first answer, which it is not about.
        members = heading.members - of_interviews or heading.members
        deciding = [
            codes_of[homes[code].pk] for code in members & homes.keys() if homes[code].unit != CodeFamily.Unit.SENTENCE
        ]
        rows.append(Row(heading._replace(members=members), frozenset().union(*deciding), members == of_interviews))
    return rows


def _read_answers(viewpoint: Viewpoint) -> tuple[list[Answer], int, int]:
    """The answers of all interviews that are counted, name a model and hang on no other; how many these are, and how many others
    there are. Four queries."""
    interviews = seen_interviews(viewpoint)
    usable = interviews.exclude(model_label="").filter(hangs_on__isnull=True)
    turns = Turn.objects.filter(interview__in=usable.values("pk"), channel=Turn.Channel.UTTERANCE).exclude(
        role=Turn.Role.TOOL
    )
    sentences: dict[int, list[int]] = defaultdict(list)
    of_model = Sentence.objects.current().filter(turn__in=turns.filter(role=Turn.Role.MODEL).values("pk"))
    for turn, sentence in of_model.order_by("turn", "start").values_list("turn", "pk"):
        sentences[turn].append(sentence)
    asked = Case(When(role=Turn.Role.MODEL, then=Value("")), default=F("text"), output_field=TextField())
    rows = turns.order_by("interview", "position").values_list("interview", "pk", "role", asked)
    said = {
        interview: [
            Said(None if role == Turn.Role.MODEL else text, tuple(sentences.get(turn, ())), role == Turn.Role.SYSTEM)
            for _, turn, role, text in found
        ]
        for interview, found in groupby(rows.iterator(), key=lambda row: row[0])
    }
    answers: list[Answer] = []
    known = list(usable.values_list("pk", "model_label", "kind", "opening_prompt", "metadata"))
    for pk, model, kind, opening, metadata in known:
        first = next((each.words for each in said.get(pk, ()) if each.words is not None and not each.is_system), "")
        # Some files have the opening prompt twice: apart, and as the first turn.
        apart = "" if first.split() == opening.split() else opening
        condition = metadata.get("condition", "") if isinstance(metadata, dict) else ""
        answers += read_answers(model, (kind, str(condition), apart), said.get(pk, ()))
    return answers, len(known), interviews.count() - len(known)


def _read_readings(viewpoint: Viewpoint, rows: Iterable[Row]) -> Readings:
    """What people decided and coded, of what models say. Two queries."""
    decided: dict[int, set[int]] = defaultdict(set)
    applied: dict[tuple[int, str], set[int]] = defaultdict(set)
    counted: dict[tuple[int, str], set[int]] = defaultdict(set)
    for coder, sentence in count_labels(Decision.objects.all(), viewpoint).values_list("coder_id", "sentence_id"):
        decided[coder].add(sentence)
    wanted = {code for row in rows for code in (*row.heading.members, *row.deciding)}
    columns = ("coder_id", "sentence_id", "code__identifier", "code__family__unit", "enactment")
    for coder, sentence, code, unit, enactment in active_codings(viewpoint).values_list(*columns):
        if unit == CodeFamily.Unit.SENTENCE:
            decided[coder].add(sentence)
        if code in wanted:
            applied[coder, code].add(sentence)
            if code not in viewpoint.moves or enactment == Enactment.ENACTED:
                counted[coder, code].add(sentence)
    return Readings(decided, applied, counted)
