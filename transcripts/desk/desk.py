"""The desk's page: one interview, one person's work on it, and the codebook next to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

from django.db.models import Exists, OuterRef

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import StageOpening
from transcripts.coding.pure import OPENING_PROMPT, Prompts, read_signs
from transcripts.corpus.models import Interview, Relation, Sentence, Turn
from transcripts.desk.annotations import CodingView, SentenceAnnotations, read_annotations_in
from transcripts.desk.exchanges import Exchange, Row, Shown, TurnBlock, apply_filter, pair_calls
from transcripts.statistics.figures import round_percent
from transcripts.studies.models import Study


@dataclass(slots=True)
class DeskPage:
    """Everything that one request of the desk shows."""

    interview: Interview
    version: CodebookVersion | None
    families: list[PanelFamily]
    exchanges: list[Exchange]
    current: Row | None
    current_exchange: Exchange | None
    sentences: int
    decided: int
    total: int
    first_undecided: Row | None
    marks: SentenceAnnotations
    shown: Shown
    parent: Turn | None
    beginning: list[TurnBlock]
    closed_at: TurnBlock | None

    @property
    def percent(self) -> int:
        """Whole per cent of the model's sentences that the viewer has decided; 100 means all."""
        return round_percent(self.decided, self.total)

    @property
    def interview_marks(self) -> SentenceAnnotations:
        """The codes of the whole interview, without its memos."""
        return SentenceAnnotations(chips=self.marks.chips, is_revealed=self.marks.is_revealed)

    @property
    def asks_about_questions(self) -> bool:
        """Whether the codebook has codes for whole turns of the interviewer, which machines can suggest."""
        return any(
            family.unit == CodeFamily.Unit.TURN and family.applies_to == CodeFamily.AppliesTo.INTERVIEWER
            for family in self.families
        )

    @property
    def codes(self) -> list[dict[str, object]]:
        """The codes as the page's script needs them."""
        return list_codes(self.families)


def build_page(
    study: Study,
    interview: Interview,
    user_id: int,
    *,
    sees_all: bool = False,
    closes_reasoning: bool = False,
    at: int | None,
    show: str = "",
    differing: Collection[int] | None = None,
) -> DeskPage:
    """At most six queries for an interview of any length, and three more for a thread that continues from another.

    ``at`` is the current sentence, if it is in this interview. ``show`` is a filter, and ``differing`` has the data it may
    need; see exchanges.py. ``closes_reasoning``: the viewer can read a model's reasoning only after she has opened it.
    """
    marks = read_annotations_in(interview.pk, user_id, sees_all=sees_all)
    of_interview = marks.get(None) or SentenceAnnotations()
    closes_reasoning = closes_reasoning and not of_interview.is_opened
    turns = list(_read_turns(interview, marks, of_interview, user_id))
    closed_at = _close_reasoning(turns, at) if closes_reasoning else None
    _find_threads(study, interview, turns)
    parent, beginning = read_beginning(interview, user_id, closes_reasoning=closes_reasoning)
    exchanges = list(_group_turns(pair_calls(turns)))
    rows = {row.id: row for turn in turns for row in turn.rows}
    undecided = [row for exchange in exchanges for row in _count_decided(exchange)]
    version = current_version(study)
    families = read_families(version)
    everywhere = [of_interview, *_list_marks(turns)]
    _mark_changed(everywhere, families)
    names = {code.identifier: code.name for family in families for code in family.codes}
    shown = apply_filter(exchanges, show, names=names, differing=differing)
    current = _choose_current(rows, undecided, shown, at)
    _derive_prompting(turns, families, interview.opening_prompt)
    at_current = _find_own_codes(turns, current, of_interview)
    fill_families(families, used=_count_own_codes(everywhere), at_current=at_current)
    return DeskPage(
        interview=interview,
        version=version,
        families=families,
        exchanges=exchanges,
        current=current,
        current_exchange=next((exchange for exchange in exchanges if current in exchange), None),
        sentences=len(rows),
        decided=sum(exchange.decided for exchange in exchanges),
        total=sum(exchange.total for exchange in exchanges),
        first_undecided=undecided[0] if undecided else None,
        marks=of_interview,
        shown=shown,
        parent=parent,
        beginning=beginning,
        closed_at=closed_at,
    )


def read_beginning(
    interview: Interview, user_id: int, *, closes_reasoning: bool
) -> tuple[Turn | None, list[TurnBlock]]:
    """The turn from which a thread continues, and the shared turns up to there, without anybody's codes.

    A sub-agent's run has none: it began with its instructions.
    """
    if interview.hangs_on_id is None:
        return None, []
    parent = Turn.objects.select_related("interview").get(pk=interview.hangs_on_id)
    if interview.relation == Relation.SUBAGENT:
        return parent, []
    rows: dict[int, list[Row]] = {}
    turns = _read_blocks(parent.interview, user_id, rows, until=parent.position)
    text_of = {turn.id: turn.text for turn in turns}
    shared = Sentence.objects.current().filter(turn__in=[turn.id for turn in turns]).order_by("position", "start")
    for turn_id, pk, position, suffix, kind, start, end in shared.values_list(
        "turn_id", "pk", "position", "suffix", "kind", "start", "end"
    ):
        text = text_of[turn_id][start:end]
        rows[turn_id].append(Row(pk, f"{position}{suffix}", kind, text, is_decided=False, marks=None, start=start))
    for turn in turns:
        if closes_reasoning and turn.is_reasoning and not turn.is_opened:
            turn.text, turn.closed = "", 1
            turn.rows.clear()
    return parent, turns


def _close_reasoning(turns: list[TurnBlock], at: int | None) -> TurnBlock | None:
    """Remove the reasoning that the viewer has neither opened nor coded; returns the turn in which ``at`` was removed."""
    found = None
    for turn in turns:
        is_known = turn.is_opened or any(row.marks and row.marks.is_own for row in turn.rows) or turn.marks.is_own
        if turn.is_reasoning and turn.rows and not is_known:
            found = turn if any(row.id == at for row in turn.rows) else found
            turn.closed, turn.text = len(turn.rows), ""
            turn.rows.clear()
    return found


def _find_threads(study: Study, interview: Interview, turns: list[TurnBlock]) -> None:
    """Set for each turn the threads of the study that continue from it."""
    by_turn = {turn.id: turn for turn in turns}
    for thread in study.interviews.filter(hangs_on__interview=interview):
        if thread.hangs_on_id in by_turn:
            by_turn[thread.hangs_on_id].threads.append(thread)


def _choose_current(rows: dict[int, Row], undecided: list[Row], shown: Shown, at: int | None) -> Row | None:
    """The requested row, or else the first undecided one; with a filter, the requested row or the next shown one."""
    if shown.rows is None:
        return rows.get(at or 0) or next(iter(undecided or rows.values()), None)
    order = list(rows)
    asked = order.index(at) if at in rows else 0
    in_sight = [pk for pk in (*order[asked:], *order[:asked]) if pk in shown.rows]
    return rows[in_sight[0]]


def _mark_changed(everywhere: list[SentenceAnnotations], families: list[PanelFamily]) -> None:
    """Mark each coding whose code has changed its meaning since, or has been removed."""
    meanings = {code.identifier: code.meaning_version for family in families for code in family.codes}
    for marks in everywhere:
        for chip in marks.chips:
            meaning = meanings.get(chip.identifier)
            chip.is_changed = meaning is None or chip.version < meaning


def _read_turns(
    interview: Interview,
    marks: dict[int | None, SentenceAnnotations],
    of_interview: SentenceAnnotations,
    user_id: int,
) -> Iterator[TurnBlock]:
    """The turns in order, each with its sentences and their annotations.

    The codes of the whole interview, which are stored on its first sentence, go to ``of_interview``.
    """
    sentences = Sentence.objects.current().filter(turn__interview=interview).order_by("position", "start")
    rows: dict[int, list[Row]] = {}
    spans = list(sentences.values_list("turn_id", "pk", "position", "suffix", "kind", "start", "end"))
    turns = _read_blocks(interview, user_id, rows)
    # The result of a tool is a unit too, but nobody codes it, so it is shown as a whole.
    results = {turn.id: turn for turn in turns if turn.channel == Turn.Channel.TOOL_RESULT}
    for span in reversed(spans):
        if span[0] in results:
            results[span[0]].unit = span[1], f"{span[2]}{span[3]}"
    spans = [span for span in spans if span[0] not in results]
    text_of = {turn.id: turn.text for turn in turns}
    if spans and (first_of_all := marks.get(spans[0][1])):
        of_interview.chips = first_of_all.split_off(CodeFamily.Unit.INTERVIEW).chips
        of_interview.is_revealed = first_of_all.is_revealed
    for turn_id, pk, position, suffix, kind, start, end in spans:
        found_here = marks.get(pk)
        is_decided = found_here is not None and found_here.counts_as_decided
        number = f"{position}{suffix}"
        rows[turn_id].append(Row(pk, number, kind, text_of[turn_id][start:end], is_decided, found_here, start))
    for turn in turns:
        if turn.rows and (first := turn.rows[0].marks):
            turn.marks = first.split_off(CodeFamily.Unit.TURN)
        yield turn


def _read_blocks(
    interview: Interview, user_id: int, rows: dict[int, list[Row]], until: int | None = None
) -> list[TurnBlock]:
    """The turns of an interview in order, up to a position if one is given, with their rows from ``rows``."""
    found = Turn.objects.filter(interview=interview).order_by("position")
    if until is not None:
        found = found.filter(position__lte=until)
    is_opened = Exists(StageOpening.objects.filter(turn=OuterRef("pk"), coder=user_id))
    columns: Iterable[Any] = found.values_list(
        "pk",
        "position",
        "role",
        "channel",
        "speaker",
        "prompt_kind",
        "text",
        "is_answer",
        "call_id",
        "details",
        is_opened,
    )
    return [TurnBlock(*[*values, rows.setdefault(values[0], [])]) for values in columns]


def _derive_prompting(turns: list[TurnBlock], families: list[PanelFamily], opening_prompt: str) -> None:
    """Set for each coding on the model's sentences whether the interviewer had raised it, and for each code when."""
    questions = [turn for turn in turns if turn.is_question]
    place_of = {turn.id: place for place, turn in enumerate(turns)}
    signs = {
        code.identifier: read_signs([code.name, *code.aliases], code.terms)
        for family in families
        for code in family.codes
    }
    own = [
        (chip.coder, chip.identifier, place_of[turn.id])
        for turn in questions
        for row in turn.rows
        for chip in (row.marks.chips if row.marks else ())
    ]
    asked = [(place_of[turn.id], turn.text, turn.prompt_kind) for turn in questions]
    opening = next((turn for turn in turns if turn.is_question or turn.role == Turn.Role.MODEL), None)
    if opening and not opening.is_question:
        asked.append((place_of[opening.id], "", ""))
    if opening and opening_prompt:
        asked.append((place_of[opening.id], opening_prompt, OPENING_PROMPT))
    prompts = Prompts(asked, signs, own)
    for family in families:
        for code in family.codes:
            places = prompts.find_mention(code.identifier), *prompts.find_search(code.identifier)
            code.raised_in, code.sought_from, code.open_from = (
                None if place is None else turns[place].id for place in places
            )
    for place, turn in enumerate(turns):
        if turn.role == Turn.Role.MODEL:
            for row in turn.rows:
                for chip in row.marks.chips if row.marks else ():
                    chip.derived = prompts.derive(coder=chip.coder, code=chip.identifier, position=place)


def _group_turns(turns: list[TurnBlock]) -> Iterator[Exchange]:
    """Group turns into exchanges: a new one begins where an interviewer speaks after somebody else."""
    groups = groupby(turns, key=lambda turn: turn.role == Turn.Role.INTERVIEWER)
    exchange = Exchange()
    for is_question, group in groups:
        if is_question:
            if exchange.answers:
                yield exchange
                exchange = Exchange()
            exchange.question = list(group)
        else:
            exchange.answers = list(group)
    if exchange.turns:
        yield exchange


def _count_decided(exchange: Exchange) -> list[Row]:
    """Fill in the counts of an exchange and return its undecided sentences."""
    rows = [row for turn in exchange.answers if turn.is_answer for row in turn.rows]
    undecided = [row for row in rows if not (row.marks and row.marks.counts_as_decided)]
    exchange.total, exchange.decided = len(rows), len(rows) - len(undecided)
    return undecided


def _list_marks(turns: list[TurnBlock]) -> list[SentenceAnnotations]:
    """The annotations of the turns and their sentences."""
    return [marks for turn in turns for marks in (turn.marks, *(row.marks for row in turn.rows)) if marks]


def _count_own_codes(everywhere: list[SentenceAnnotations]) -> Counter[str]:
    """How often the viewer has applied each code in this interview."""
    return Counter(chip.identifier for marks in everywhere for chip in marks.chips if not chip.coder)


def _find_own_codes(
    turns: list[TurnBlock], current: Row | None, of_interview: SentenceAnnotations
) -> dict[str, CodingView]:
    """The viewer's codings that apply at the current sentence: its own, its turn's and its interview's."""
    turn = next((turn for turn in turns if any(row is current for row in turn.rows)), None)
    if turn is None or current is None:
        return {}
    chips = [*of_interview.chips, *turn.marks.chips, *(current.marks.chips if current.marks else [])]
    return {chip.identifier: chip for chip in chips if not chip.coder}


FAMILY_FIELDS = [
    f"family__{name}"
    for name in ("identifier", "name", "unit", "applies_to", "color", "carries_level", "carries_enactment", "position")
]
CODE_FIELDS = [
    *("identifier", "name", "key", "color", "aliases", "definition", "include", "exclude", "terms", "attributes"),
    *("meaning_version", "family"),
    *FAMILY_FIELDS,
]

# The number of codes that a panel shows without long scrolling. Families whose codes have no key unfold as far as they fit.
UNFOLDED_CODES = 24


@dataclass(slots=True)
class PanelCode:
    """A code as a button; ``chip`` is the viewer's own coding with it at the current sentence.

    ``raised_in`` is the first turn in which the interviewer names it, if any; ``sought_from`` the first that could be searched,
    and ``open_from`` the first that leaves it open.
    """

    id: int
    identifier: str
    name: str
    key: str
    color: str
    aliases: list[str]
    definition: str
    include: str
    exclude: str
    terms: list[str]
    attributes: list[dict[str, Any]]
    meaning_version: int
    count: int = 0
    chip: CodingView | None = None
    raised_in: int | None = None
    sought_from: int | None = None
    open_from: int | None = None


@dataclass(slots=True)
class PanelFamily:
    """A family of codes in the panel.

    ``applies_to``: whose turns its codes are about. ``is_open``: whether its codes are visible at first.
    """

    identifier: str
    name: str
    unit: str
    applies_to: str
    carries_level: bool
    carries_enactment: bool
    codes: list[PanelCode]
    is_open: bool = True

    @property
    def has_keys(self) -> bool:
        return any(code.key for code in self.codes)

    @property
    def place(self) -> str:
        """The unit of its codes, if it is not the sentence."""
        return "" if self.unit == CodeFamily.Unit.SENTENCE else self.unit

    @property
    def is_folded(self) -> bool:
        """Families of turns and interviews, and those whose codes have no key, can be folded and unfolded."""
        return bool(self.place) or not self.has_keys


def read_families(version: CodebookVersion | None) -> list[PanelFamily]:
    """The families of a published version with their codes, in order: at most one query."""
    if version is None:
        return []
    families = _read_frozen_families(version.pk, version.published_at)
    return [replace(family, codes=[copy(code) for code in family.codes]) for family in families]


@lru_cache(maxsize=16)
def _read_frozen_families(version_id: int, _published_at: datetime | None) -> list[PanelFamily]:
    """The same, kept in memory: a published version never changes, and every desk needs it (`python -m perf open`)."""
    codes = Code.objects.filter(version=version_id, is_category=False).select_related("family")
    codes = codes.order_by("family__position", "position")
    families = [
        PanelFamily(
            identifier=family.identifier,
            name=family.name,
            unit=family.unit,
            applies_to=family.applies_to,
            carries_level=family.carries_level,
            carries_enactment=family.carries_enactment,
            codes=[
                PanelCode(
                    id=code.pk,
                    identifier=code.identifier,
                    name=code.name,
                    key=code.key,
                    color=code.color or family.color,
                    aliases=code.aliases,
                    definition=code.definition,
                    include=code.include,
                    exclude=code.exclude,
                    terms=code.terms,
                    attributes=code.attributes,
                    meaning_version=code.meaning_version,
                )
                for code in group
            ],
        )
        for family, group in groupby(codes.only(*CODE_FIELDS), key=lambda code: code.family)
    ]
    _unfold(families)
    return families


def _unfold(families: Sequence[PanelFamily]) -> None:
    """Unfold families with keys, others as far as they fit, and always the first, so that there are codes to choose."""
    shown = sum(len(family.codes) for family in families if family.has_keys)
    for family in families:
        if not family.has_keys:
            family.is_open = not shown or shown + len(family.codes) <= UNFOLDED_CODES
            shown += len(family.codes) if family.is_open else 0


def fill_families(families: list[PanelFamily], *, used: Counter[str], at_current: Mapping[str, CodingView]) -> None:
    """Fill in how often the viewer has applied each code in this interview, and whether to this sentence."""
    for family in families:
        for code in family.codes:
            code.count = used[code.identifier]
            code.chip = at_current.get(code.identifier)


def list_codes(families: list[PanelFamily]) -> list[dict[str, object]]:
    """The codes as the page's script needs them."""
    return [
        {
            "id": code.id,
            "identifier": code.identifier,
            "name": code.name,
            "key": code.key,
            "color": code.color,
            "aliases": code.aliases,
            "definition": code.definition,
            "include": code.include,
            "exclude": code.exclude,
            "family": family.identifier,
            "familyName": family.name,
            "unit": family.unit,
            "appliesTo": family.applies_to,
            "level": family.carries_level,
            "enactment": family.carries_enactment,
            "questions": code.attributes,
            "raisedIn": code.raised_in,
            "soughtFrom": code.sought_from,
            "openFrom": code.open_from,
            "meaning": code.meaning_version,
        }
        for family in families
        for code in family.codes
    ]
