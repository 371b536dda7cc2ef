"""What machines suggest for a sentence, as one person may see it: ``PanelState``, read once for a request.

Of several answers of one annotator about a sentence and a code the latest counts (as in machine_labels.py, which does the same
for a whole study in arrays). After a boundary edit a sentence counts as annotated where all its words were.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from auditapp.annotators.models import KIND, Annotator, CodeChoice, CriticAnswer, OfflineAnswer, Suggestion, TurnAnswer
from auditapp.annotators.queries.boundary_edits import find_words, read_turns
from auditapp.batches.models import Cell
from auditapp.suggestions.models import Response, Showing
from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Reveal
from transcripts.coding.values import keep_answers
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import EditedTurn
from transcripts.studies.models import Study

# How much of the turn is shown on either side of the evidence for a code of the whole turn.
MAX_AROUND = 120

# Where a suggestion came from: "cell" and the key of a cell, or "run" and the key of a run.
Origin = tuple[str, int]


@dataclass
class PanelState:
    """What one person is shown for a sentence; by default nothing, as where no machine annotates and on a withheld turn.

    ``annotators``: what is shown of each of them, in an order of her own. ``flags`` name what in the turn looks like
    instructions to a machine. ``is_left_aside``: an annotator has the sentence, but only for codes for which another one, or
    none, is chosen.

    What is suggested for the whole turn is at its first sentence, once she has decided all its sentences or, in a draft and on
    a turn of the interviewer that she is through with, before; ``waits_for_turn`` says that she has not, whether or not
    anything was suggested. ``turn_sentences``: those that she learns about with it. ``showing``: her look, ``None`` where there
    was nothing to show, which leaves her as blind as before.
    """

    annotators: list[dict[str, Any]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    is_left_aside: bool = False
    waits_for_turn: bool = False
    turn_sentences: list[int] = field(default_factory=list)
    is_draft: bool = False
    is_withheld: bool = False
    showing: Showing | None = None

    @property
    def offers(self) -> list[dict[str, Any]]:
        """Every suggestion, in the order shown."""
        return [offer for each in self.annotators for offer in each["offers"]]


def read_panel(
    study: Study,
    sentence: Sentence,
    coder: User,
    *,
    logged: Sequence[int] = (),
    is_draft: bool = False,
    is_through: bool = False,
) -> PanelState:
    """What annotators suggest for ``sentence``, as ``coder`` may see it after her own decision.

    ``logged`` is the order in which she saw suggestions before; what came since follows. ``is_draft``: the interview is a
    draft; ``is_through``: the sentence is of a turn of the interviewer that she is through with.

    Twelve queries, whatever the size of the study, up to four more where its boundaries were edited. Reads sentence.turn.
    """
    turn = read_turns([sentence.turn_id])[sentence.turn_id] if sentence.made_by_id is not None else None
    # What was asked about the turn.
    cells = Cell.objects.filter(arm__batch__study=study, arm__batch__kind=KIND, input_id=sentence.turn_id)
    of_turn: list[int] = []
    if cells.filter(arm__settings__turns_of__isnull=False).exists():
        current = Sentence.objects.current().filter(turn=sentence.turn_id).order_by("start")
        of_turn = list(current.values_list("pk", flat=True))
    is_first = of_turn[:1] == [sentence.pk]
    opens_turn = is_first and (is_draft or is_through or _list_known(of_turn, coder).issuperset(of_turn))
    answers = _read_answers(study, cells, sentence, turn, of_turn=opens_turn)
    reader = _PanelReader(study, sentence, coder, turn, answers)
    ordered = sorted(answers, key=lambda each: reader.draw("annotator", each.annotator.pk))
    found = [panel for each in ordered if (panel := reader.read_annotator(each, logged)) is not None]
    return PanelState(
        annotators=found,
        flags=sorted({flag for each in answers for flag in each.flags}),
        is_left_aside=bool(answers) and not found,
        waits_for_turn=is_first and not opens_turn,
        turn_sentences=of_turn if opens_turn else [],
        is_draft=is_draft,
    )


@dataclass
class _Answers:
    """What one annotator was asked about a sentence, and its latest answers: ``asked`` and ``latest`` by the identifier of a code.

    ``latest``: the answer that counts; of a code that is asked and not there it said nothing. ``partly``: the last that
    covered a part of the sentence as it is now. ``edited_since``: codes whose answer is about earlier boundaries.
    ``rejected``: by answer, the codes of proposals for the sentence that could not be used; ``None`` of one without a code.
    ``codes``: of its codebook, the identifier of each code with its row.
    """

    annotator: Annotator
    codes: dict[str, Any]
    asked: set[str] = field(default_factory=set)
    latest: dict[str, Origin] = field(default_factory=dict)
    partly: dict[str, Origin] = field(default_factory=dict)
    edited_since: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    rejected: dict[Origin, list[str | None]] = field(default_factory=dict)

    def add(
        self, codes: Collection[str], origin: Origin, answered: Collection[int], pk: int, turn: EditedTurn | None
    ) -> bool:
        """Take an answer about these sentences of its turn that comes after those before. Whether it says anything of ``pk``."""
        if pk in answered:
            self.latest |= dict.fromkeys(codes, origin)
            self.edited_since -= set(codes)
            return True
        if turn is None or not turn.is_met(pk, answered):
            return False
        if turn.is_covered(pk, answered):
            self.latest |= dict.fromkeys(codes, origin)
            self.edited_since |= set(codes)
        else:
            self.partly |= dict.fromkeys(codes, origin)
            self.edited_since |= set(codes) - self.latest.keys()
        return True


def _read_answers(
    study: Study, cells: QuerySet[Cell], sentence: Sentence, turn: EditedTurn | None, *, of_turn: bool
) -> list[_Answers]:
    """Everything annotators were asked about the sentence, by annotator. ``turn``: its turn, where boundaries were edited.
    ``of_turn``: also what they were asked about its whole turn, which is shown at the first sentence of it. Of several answers of
    one annotator about a code the latest counts, as in machine_labels.py, which says the same of a whole study in arrays.

    Four queries, and only rows that concern its turn or interview, however many batches and annotators the study has.
    """
    # Not the instructions: every arm has its own, of many kilobytes.
    cells = cells.select_related("arm__batch", "turn_answer").defer("arm__system_prompt")
    asked: list[tuple[int, Cell, TurnAnswer | None]] = []
    for cell in cells.order_by("pk"):
        settings, turn_answer = cell.arm.settings, getattr(cell, "turn_answer", None)
        annotator = settings.get("annotator") or (turn_answer.annotator_id if turn_answer else 0)
        if annotator and not settings.get("condition") and (of_turn or not settings.get("turns_of")):
            asked.append((annotator, cell, turn_answer))
    runs = OfflineAnswer.objects.filter(interview=sentence.turn.interview_id, run__annotator__study=study)
    read = list(runs.select_related("run").order_by("run_id", "pk"))
    keys = {*(annotator for annotator, *_ in asked), *(each.run.annotator_id for each in read)}
    annotators = Annotator.objects.filter(study=study, pk__in=keys).select_related("variant__account", "version")
    found = {each.pk: _Answers(each, {}) for each in annotators.order_by("pk")}
    codes = Code.objects.filter(version__in={each.annotator.version_id for each in found.values()}).order_by("pk")
    columns = ("version", "identifier", "family__identifier", "family__name", "family__unit", "keyword_rules")
    rows = list(codes.exclude(family__unit=CodeFamily.Unit.INTERVIEW).values_list(*columns, named=True))
    for each in found.values():
        each.codes |= {row.identifier: row for row in rows if row.version == each.annotator.version_id}
    for annotator, cell, turn_answer in asked:
        each, answered = found[annotator], _list_answered(cell, turn_answer, sentence, turn)
        of_family = [name for name, row in each.codes.items() if row.family__identifier == cell.arm.task]
        named = cell.arm.settings.get("codes", of_family)
        each.asked.update(named)
        if each.add(named, ("cell", cell.pk), answered, sentence.pk, turn) and turn_answer:
            each.flags.update(turn_answer.flags)
            # An answer that was left out leaves its code, which is kept.
            unusable = (
                one for one in turn_answer.rejected if one.get("sentence") == sentence.pk and not one.get("question")
            )
            each.rejected["cell", cell.pk] = [one.get("code") for one in unusable]
    for offline in read:
        each = found[offline.run.annotator_id]
        if each.annotator.kind == Annotator.Kind.RULES:
            # Rules are read sentence by sentence.
            by_sentence = [row for row in each.codes.values() if row.family__unit == CodeFamily.Unit.SENTENCE]
            named = [row.identifier for row in by_sentence if row.keyword_rules]
        else:
            learnt = each.annotator.recipe.get("codes", {})
            named = [name for name in each.codes if learnt.get(name, {}).get("threshold") is not None]
        if each.add(named, ("run", offline.run_id), offline.sentences, sentence.pk, turn):
            each.asked.update(named)
    return [each for each in found.values() if each.asked]


def _list_answered(
    cell: Cell, turn_answer: TurnAnswer | None, sentence: Sentence, turn: EditedTurn | None
) -> Collection[int]:
    """The sentences that the answer speaks of; one without a list was asked about all its turn then had."""
    if turn_answer is None or turn_answer.outcome == TurnAnswer.Outcome.INVALID:
        return ()
    answered = set(turn_answer.asked) - set(turn_answer.missing)
    if cell.arm.settings.get("turns_of"):
        return [sentence.pk] if answered else ()
    if turn_answer.asked or turn is None:
        return answered if turn_answer.asked else [sentence.pk]
    is_older = sentence.made_by is not None and sentence.made_by.edited_at >= cell.arm.batch.created_at
    return turn.list_earlier(sentence.pk) if is_older else [sentence.pk]


class _PanelReader:
    """All suggestions for a sentence, with what one person may know of them and made of them.

    ``unplaced``: suggestions about words of this sentence and of others, which are read nowhere; only those of which she
    has her own decision on every one of these, for they tell that a machine suggested something there.
    ``rejected_by_critic``: those left out because the study takes the annotator with its critic. ``active``:
    the codings she accepted that are active; after a boundary edit those whose code is active on this sentence.
    """

    def __init__(
        self, study: Study, sentence: Sentence, coder: User, turn: EditedTurn | None, answers: Sequence[_Answers]
    ) -> None:
        self.sentence, self.coder = sentence, coder
        annotators = [each.annotator for each in answers]
        versions = {annotator.version_id: annotator.version for annotator in annotators}
        places = [sentence.pk, *(turn.list_earlier(sentence.pk) if turn else ())]
        rows = Suggestion.objects.filter(sentence__in=places, annotator__in=annotators)
        found = list(rows.select_related("code__family", "sentence").order_by("pk"))
        for suggestion in found:
            suggestion.code.version = versions[suggestion.code.version_id]
        self.suggestions, self.unplaced = _part(found, sentence, coder, turn) if turn else (found, [])
        critics = CriticAnswer.objects.filter(suggestion__in=found).exclude(verdict="").order_by("cell_id")
        self.critics = {critic.suggestion_id: critic for critic in critics}
        responses = Response.objects.filter(suggestion__in=self.suggestions, coder=coder, superseded_at__isnull=True)
        self.responses = {each.suggestion_id: each for each in responses.select_related("coding__code")}
        choices = CodeChoice.objects.filter(study=study, superseded_at__isnull=True)
        self.choices = {choice.code_identifier: choice for choice in choices}
        believed = {code for code, choice in self.choices.items() if choice.with_critic}
        self.rejected_by_critic = {
            each.pk
            for each in found
            if each.code.identifier in believed
            and each.pk in self.critics
            and self.critics[each.pk].verdict == CriticAnswer.Verdict.REJECTED
        }
        codings = [response.coding for response in self.responses.values() if response.coding is not None]
        self.active = {each.pk for each in codings if each.withdrawn_at is None}
        if carried := [each for each in codings if each.sentence_id != sentence.pk]:
            own = Coding.objects.active().filter(sentence=sentence, coder=coder)
            codes = set(own.values_list("code__identifier", flat=True))
            self.active |= {each.pk for each in carried if each.code.identifier in codes}
        self.codes = find_present_codes(study, self.suggestions)

    def draw(self, what: str, pk: int) -> float:
        """A place in an order that is another one for every coder and sentence, and the same at every look."""
        seed = f"{self.sentence.pk} {self.coder.pk} {what} {pk}"
        return random.Random(seed).random()  # noqa: S311 - an order, not a secret

    def read_annotator(self, answers: _Answers, logged: Sequence[int]) -> dict[str, Any] | None:
        """What is shown of one annotator; ``None`` where it is chosen for none of the codes it was asked about.

        ``read``, ``partly`` and ``silent``: the families for whose codes it annotated the sentence (with how many of them where
        not all), those for which it had a part of what the sentence is now, and those it was asked for and gave no answer.
        ``is_edited_since``: its answer is about earlier boundaries. ``unplaced``: suggestions for words of this sentence that no
        one sentence holds now, as far as she may know of them. ``unusable``: proposals without valid evidence and the like.
        ``rejected_by_critic``: suggestions left out because the study takes it with its critic. ``elsewhere``: codes for which
        the study chose another annotator, or none.
        """
        pk, chosen = answers.annotator.pk, self.choices
        mine = {code for code in answers.asked if code not in chosen or chosen[code].annotator_id == pk}
        if not mine:
            return None
        # The last about the whole sentence, or else the last about a part.
        origins = {code: origin for code, origin in (answers.partly | answers.latest).items() if code in mine}
        places = {shown: place for place, shown in enumerate(logged)}
        latest = [
            each
            for each in (*self.suggestions, *self.unplaced)
            if each.annotator_id == pk
            and origins.get(each.code.identifier)
            == (("cell", each.cell_id) if each.cell_id else ("run", each.run_id or 0))
        ]
        lost = {each.pk for each in latest if each in self.unplaced}
        offered = sorted(
            (each for each in latest if each.pk not in lost | self.rejected_by_critic),
            key=lambda each: (places.get(each.pk, len(places)), self.draw("suggestion", each.pk)),
        )
        holding = {answers.latest[code] for code in mine if code in answers.latest}
        unusable = [code for origin in holding for code in answers.rejected.get(origin, ())]
        return {
            "annotator": answers.annotator,
            **_name_families(answers, mine),
            "is_edited_since": bool(answers.edited_since & mine),
            "unplaced": len(lost - self.rejected_by_critic),
            "offers": [self._read_offer(each) for each in offered],
            "unusable": sum(code is None or code in mine for code in unusable),
            "rejected_by_critic": len(latest) - len(lost) - len(offered),
            "elsewhere": len(answers.asked) - len(mine),
        }

    def _read_offer(self, suggestion: Suggestion) -> dict[str, Any]:
        """A suggestion with what this person made of it (``response``; ``None``: nothing that is in force).

        ``evidence``: the text before the quote, the quote, and the rest; ``None`` where the annotator named no quote.
        ``answers``: its answers to questions that the code still asks, each with the question's label; ``questions``: those
        to be answered in a form, each with the suggested answer.
        ``code`` is the code as it is now; where there is none, ``obstacle`` says why the suggestion cannot be accepted.
        ``is_changed``: the code means something else since the annotator used it. ``is_removed``: the coding she accepted was
        removed or changed since.
        """
        code, obstacle = self.codes[suggestion.pk]
        response = self.responses.get(suggestion.pk)
        coding = response.coding if response else None
        # An answer that no longer fits is left out.
        kept = keep_answers(suggestion.answers, code) if code else {}
        asked = [(each, kept.get(each["key"], "")) for each in code.attributes] if code else []
        text, start, end = self.sentence.turn.text, suggestion.quote_start, suggestion.quote_end
        evidence = None
        if start is None or end is None:
            pass
        elif suggestion.code.family.unit == CodeFamily.Unit.TURN:
            first, last = max(0, start - MAX_AROUND), end + MAX_AROUND
            before, after = "… " if first else "", " …" if last < len(text) else ""
            evidence = before + text[first:start], text[start:end], text[end:last] + after
        elif self.sentence.start <= start < end <= self.sentence.end:
            evidence = text[self.sentence.start : start], text[start:end], text[end : self.sentence.end]
        return {
            "suggestion": suggestion,
            "response": response if response and response.verdict != Response.Verdict.UNDONE else None,
            "evidence": evidence,
            "answers": [(each["label"], answer) for each, answer in asked if each["key"] in kept],
            "questions": [(each, answer) for each, answer in asked if each.get("required") or each["key"] in kept],
            "code": code,
            "obstacle": obstacle,
            "is_changed": code is not None and code.meaning_version > suggestion.code.version.number,
            "is_removed": coding is not None and coding.pk not in self.active,
            "critic": self.critics.get(suggestion.pk),
        }


def _name_families(answers: _Answers, mine: Collection[str]) -> dict[str, list[str]]:
    """The families of the codes that are its own, by how much of the sentence it read for them."""
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for code in mine:
        row = answers.codes.get(code)
        how = "read" if code in answers.latest else "partly" if code in answers.partly else "silent"
        asked[row.family__name if row else code][how] += 1
    named: dict[str, list[str]] = {"read": [], "partly": [], "silent": []}
    for family, counts in sorted(asked.items()):
        part = "" if counts["read"] == counts.total() else f" ({counts['read']} of {counts.total()} codes)"
        how = next(each for each in named if counts[each])
        named[how].append(family + part if how == "read" else family)
    return named


def _part(
    found: Sequence[Suggestion], sentence: Sentence, coder: User, turn: EditedTurn
) -> tuple[list[Suggestion], list[Suggestion]]:
    """Those that are read at the sentence, and those about words of it that are read nowhere and she may know of."""
    places = {each.pk: turn.find_place(find_words(each)) for each in found}
    touched = {each.pk: turn.list_touched(find_words(each)) for each in found if places[each.pk] is None}
    lost = {pk: sentences for pk, sentences in touched.items() if sentence.pk in sentences}
    known = _list_known({pk for sentences in lost.values() for pk in sentences}, coder) if lost else set()
    return (
        [each for each in found if places[each.pk] == sentence.pk],
        [each for each in found if each.pk in lost and known.issuperset(lost[each.pk])],
    )


def _list_known(sentence_ids: Collection[int], coder: User) -> set[int]:
    """Those of the sentences on which she has her own word, or has seen others'."""
    decided = Decision.objects.active().filter(sentence__in=sentence_ids, coder=coder)
    revealed = Reveal.objects.filter(sentence__in=sentence_ids, coder=coder)
    return {*decided.values_list("sentence", flat=True), *revealed.values_list("sentence", flat=True)}


def find_present_codes(study: Study, suggestions: Collection[Suggestion]) -> dict[int, tuple[Code | None, str]]:
    """By suggestion: its code as it is now, or ``None`` and why there is none. Reads suggestion.code.

    Two queries, one more where a code is no longer in the codebook.
    """
    version = current_version(study)
    wanted = {each.code.identifier for each in suggestions}
    rows = Code.objects.filter(version=version, identifier__in=wanted).select_related("family", "version")
    codes = {code.identifier: code for code in rows}
    ends = _explain_ends(study, wanted - set(codes)) if wanted - set(codes) else {}
    found: dict[int, tuple[Code | None, str]] = {}
    for each in suggestions:
        identifier = each.code.identifier
        obstacle = ""
        if version is None:
            obstacle = "This study has no published codebook."
        elif identifier not in codes:
            end = ends.get(identifier, "it is no longer part of it")
            gone = f"The current codebook ({version}) no longer has the code {each.code.name}"
            obstacle = f"{gone}: {end}. You can reject this suggestion, but not accept it."
        found[each.pk] = (codes.get(identifier), obstacle)
    return found


def _explain_ends(study: Study, gone: Collection[str]) -> dict[str, str]:
    changes = CodeChange.objects.filter(
        version__study=study, version__status=CodebookVersion.Status.PUBLISHED, from_identifier__in=gone
    ).order_by("version__number", "pk")
    words = {
        CodeChange.Kind.MERGED: "it was merged into another code in {}",
        CodeChange.Kind.SPLIT: "it was split in {}, and it is not known which part applies",
        CodeChange.Kind.RETIRED: "it was retired in {}",
    }
    ends = changes.filter(kind__in=words).select_related("version")
    return {each.from_identifier: words[CodeChange.Kind(each.kind)].format(each.version) for each in ends}


def find_showing(sentence: Sentence, coder: User) -> Showing | None:
    """Her last look at the suggestions of the sentence."""
    return Showing.objects.filter(sentence=sentence, coder=coder).order_by("-pk").first()


def find_look_at(suggestion: Suggestion, coder: User) -> Showing | None:
    """Her last look in which the suggestion was shown: it may have been at another sentence of its turn then. Reads
    suggestion.sentence."""
    looks = Showing.objects.filter(sentence__turn=suggestion.sentence.turn_id, coder=coder).order_by("-pk")
    return next((each for each in looks if suggestion.pk in each.suggestions), None)
