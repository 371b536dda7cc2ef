"""What was suggested for a sentence, annotator by annotator, and what one person made of it."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from auditapp.preannotation.models import Annotator, CodeChoice, CriticReading, Response, Showing, Suggestion
from auditapp.preannotation.suggestions.pure.placing import EditedTurn
from auditapp.preannotation.suggestions.queries.boundary_edits import find_words, read_turns
from auditapp.preannotation.suggestions.queries.latest_answers import LatestAnswers, is_turn_asked, read_latest_answers
from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Reveal
from transcripts.coding.values import keep_answers
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project

# How much of the turn is shown on either side of the evidence for a code of the whole turn.
MAX_AROUND = 120


def read_panel(
    project: Project, sentence: Sentence, coder: User, *, logged: Sequence[int] = (), before_decision: bool = False
) -> dict[str, Any]:
    """What ``annotators`` suggest for ``sentence``, as ``coder`` may see it after her own decision: context of the panel.

    ``logged`` is the order in which she saw suggestions before; what came since follows. ``flags`` name what in its turn
    looks like instructions to a machine. ``is_left_aside``: an annotator has it, but only for codes for which another one,
    or none, is chosen.

    What is suggested for the whole turn is at its first sentence, once she has decided all its sentences or, in a draft and
    on a turn of the interviewer that she is through with, ``before_decision``; ``waits_for_turn`` says that she has not, whether
    or not anything was suggested. ``turn_sentences``: those that she learns about with it.

    Twelve queries, whatever the study holds, up to four more where its boundaries were edited. Reads
    sentence.turn.
    """
    turn = read_turns([sentence.turn_id])[sentence.turn_id] if sentence.made_by_id is not None else None
    of_turn = _list_turn(sentence) if is_turn_asked(project, sentence.turn_id) else []
    is_first = bool(of_turn) and of_turn[0] == sentence.pk
    opens_turn = is_first and (before_decision or _list_known(of_turn, coder).issuperset(of_turn))
    answers = read_latest_answers(project, sentence, turn, of_turn=opens_turn)
    reader = _PanelReader(project, sentence, coder, turn, answers)
    found = [
        panel
        for each in sorted(answers, key=lambda each: reader.draw("annotator", each.annotator.pk))
        if (panel := reader.read_annotator(each, logged)) is not None
    ]
    flags = {flag for each in answers for flag in each.flags}
    return {
        "annotators": found,
        "flags": sorted(flags),
        "is_left_aside": bool(answers) and not found,
        "waits_for_turn": is_first and not opens_turn,
        "turn_sentences": of_turn if opens_turn else [],
    }


def _list_turn(sentence: Sentence) -> list[int]:
    """The current sentences of its turn, in order."""
    return list(Sentence.objects.current().filter(turn=sentence.turn_id).order_by("start").values_list("pk", flat=True))


def list_offers(panel: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every suggestion of a panel, in the order shown."""
    return [offer for each in panel["annotators"] for offer in each["offers"]]


class _PanelReader:
    """All suggestions for a sentence, with what one person may know of them and made of them.

    ``unplaced``: suggestions about words of this sentence and of others, which are read nowhere; only those of which she
    has her own decision on every one of these, for they tell that a machine suggested something there.
    """

    def __init__(
        self,
        project: Project,
        sentence: Sentence,
        coder: User,
        turn: EditedTurn | None,
        answers: Sequence[LatestAnswers],
    ) -> None:
        self.sentence, self.coder = sentence, coder
        annotators = [each.annotator for each in answers]
        versions = {annotator.version_id: annotator.version for annotator in annotators}
        places = [sentence.pk, *(turn.list_earlier(sentence.pk) if turn else ())]
        rows = Suggestion.objects.filter(sentence__in=places, annotator__in=annotators)
        found = list(rows.select_related("code__family", "sentence").order_by("pk"))
        for suggestion in found:
            suggestion.code.version = versions[suggestion.code.version_id]
        self.suggestions, self.unplaced = _part(found, sentence, coder, turn)
        critics = CriticReading.objects.filter(suggestion__in=found).exclude(verdict="").order_by("cell_id")
        self.critics = {critic.suggestion_id: critic for critic in critics}
        responses = Response.objects.filter(suggestion__in=self.suggestions, coder=coder, superseded_at__isnull=True)
        self.responses = {each.suggestion_id: each for each in responses.select_related("coding__code")}
        choices = CodeChoice.objects.filter(project=project, superseded_at__isnull=True)
        self.choices = {choice.code_identifier: choice for choice in choices}
        self.active = _find_active(self.responses.values(), sentence)
        self.codes = find_present_codes(project, self.suggestions)

    def draw(self, what: str, pk: int) -> float:
        """A place in an order that is another one for every coder and sentence, and the same at every look."""
        seed = f"{self.sentence.pk} {self.coder.pk} {what} {pk}"
        return random.Random(seed).random()  # noqa: S311 - an order, not a secret

    def read_annotator(self, answers: LatestAnswers, logged: Sequence[int]) -> dict[str, Any] | None:
        """What is shown of one annotator; ``None`` where it is chosen for none of the codes it was asked about.

        ``read``, ``partly`` and ``silent``: the families for whose codes it annotated the sentence, those for which it had
        a part of what the sentence is now, and those it was asked for and gave no answer. ``is_edited_since``: its answer is
        about earlier boundaries. ``unplaced``: suggestions for words of this sentence that no one sentence holds now, as
        far as she may know of them. ``unusable``: proposals without valid evidence and the like. ``reversed``: suggestions
        left out because the study takes it with its critic. ``elsewhere``: codes for which the study chose another
        annotator, or none.
        """
        mine = {code for code in answers.asked if self._is_chosen(answers.annotator, code)}
        if not mine:
            return None
        places = {pk: place for place, pk in enumerate(logged)}
        latest = [each for each in self.suggestions if each.code.identifier in mine and _is_latest(each, answers)]
        offered = sorted(
            (each for each in latest if not self._is_left_to_critic(each)),
            key=lambda each: (places.get(each.pk, len(places)), self.draw("suggestion", each.pk)),
        )
        read, partly, silent = _name_families(answers, mine)
        lost = [each for each in self.unplaced if each.code.identifier in mine and _is_latest(each, answers)]
        return {
            "annotator": answers.annotator,
            "read": read,
            "partly": partly,
            "silent": silent,
            "is_edited_since": bool(answers.edited_since & mine),
            "unplaced": sum(not self._is_left_to_critic(each) for each in lost),
            "offers": [self._read_offer(each) for each in offered],
            "unusable": answers.count_unusable(mine),
            "reversed": len(latest) - len(offered),
            "elsewhere": len(answers.asked) - len(mine),
        }

    def _is_chosen(self, annotator: Annotator, code: str) -> bool:
        choice = self.choices.get(code)
        return choice is None or choice.annotator_id == annotator.pk

    def _is_left_to_critic(self, suggestion: Suggestion) -> bool:
        choice, critic = self.choices.get(suggestion.code.identifier), self.critics.get(suggestion.pk)
        return bool(choice and choice.with_critic and critic and critic.verdict == CriticReading.Verdict.REVERSED)

    def _read_offer(self, suggestion: Suggestion) -> dict[str, Any]:
        """A suggestion beside what this person made of it (``response``; ``None``: nothing that is in force).

        ``evidence``: the sentence before the quote, the quote, and the rest; ``None`` where the annotator named no quote.
        ``answers``: its answers to questions that the code still asks, each with the question's label; ``questions``: those
        to be answered in a form, each with the suggested answer.
        ``code`` is the code as it is now; where there is none, ``obstacle`` says why the suggestion cannot be kept.
        ``is_changed``: the code means something else since the annotator used it. ``is_removed``: the coding she kept was
        removed or changed since.
        """
        code, obstacle = self.codes[suggestion.pk]
        response = self.responses.get(suggestion.pk)
        return {
            "suggestion": suggestion,
            "response": response if response and response.verdict != Response.Verdict.UNDONE else None,
            "evidence": _cut_out(suggestion, self.sentence),
            **_read_questions(suggestion, code),
            "code": code,
            "obstacle": obstacle,
            "is_changed": code is not None and code.meaning_version > suggestion.code.version.number,
            "is_removed": response is not None
            and response.coding is not None
            and response.coding.pk not in self.active,
            "critic": self.critics.get(suggestion.pk),
        }


def _is_latest(suggestion: Suggestion, answers: LatestAnswers) -> bool:
    """Whether the suggestion came in the annotator's latest answer about its code."""
    origin = ("cell", suggestion.cell_id) if suggestion.cell_id else ("run", suggestion.run_id or 0)
    is_own = suggestion.annotator_id == answers.annotator.pk
    return is_own and answers.find_origin(suggestion.code.identifier) == origin


def _cut_out(suggestion: Suggestion, sentence: Sentence) -> tuple[str, str, str] | None:
    text, start, end = sentence.turn.text, suggestion.quote_start, suggestion.quote_end
    if suggestion.code.family.unit == CodeFamily.Unit.TURN and start is not None and end is not None:
        first, last = max(0, start - MAX_AROUND), end + MAX_AROUND
        before, after = text[first:start], text[end:last]
        return ("… " if first else "") + before, text[start:end], after + (" …" if last < len(text) else "")
    if start is None or end is None or not sentence.start <= start < end <= sentence.end:
        return None
    return text[sentence.start : start], text[start:end], text[end : sentence.end]


def _read_questions(suggestion: Suggestion, code: Code | None) -> dict[str, list[tuple[Any, str]]]:
    """What the offer says of the questions of the code as it is now; an answer that no longer fits is left out."""
    if code is None:
        return {"answers": [], "questions": []}
    kept = keep_answers(suggestion.answers, code)
    return {
        "answers": [(each["label"], kept[each["key"]]) for each in code.attributes if each["key"] in kept],
        "questions": [
            (each, kept.get(each["key"], "")) for each in code.attributes if each.get("required") or each["key"] in kept
        ],
    }


def _name_families(answers: LatestAnswers, mine: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    """The families it read the sentence for, with how many of their codes where not all, those for which it read a part
    of it, and those it said nothing of."""
    asked: dict[str, list[str]] = {}
    for code in sorted(mine):
        asked.setdefault(answers.families.get(code, code), []).append(code)
    read: list[str] = []
    partly: list[str] = []
    silent: list[str] = []
    for family, codes in sorted(asked.items()):
        answered = sum(code in answers.latest for code in codes)
        if answered:
            read.append(family if answered == len(codes) else f"{family} ({answered} of {len(codes)} codes)")
        elif any(code in answers.partly for code in codes):
            partly.append(family)
        else:
            silent.append(family)
    return read, partly, silent


def _part(
    found: Sequence[Suggestion], sentence: Sentence, coder: User, turn: EditedTurn | None
) -> tuple[list[Suggestion], list[Suggestion]]:
    """Those that are read at the sentence, and those about words of it that are read nowhere and she may know of."""
    if turn is None:
        return list(found), []
    places = {each.pk: turn.find_place(find_words(each)) for each in found}
    touched = {each.pk: turn.list_touched(find_words(each)) for each in found if places[each.pk] is None}
    lost = {pk: sentences for pk, sentences in touched.items() if sentence.pk in sentences}
    known = _list_known({pk for sentences in lost.values() for pk in sentences}, coder) if lost else set()
    return (
        [each for each in found if places[each.pk] == sentence.pk],
        [each for each in found if each.pk in lost and known.issuperset(lost[each.pk])],
    )


def _find_active(responses: Iterable[Response], sentence: Sentence) -> set[int]:
    """The kept codings that are active; after a boundary edit those whose code is active on this sentence."""
    codings = [response.coding for response in responses if response.coding is not None]
    active = {each.pk for each in codings if each.withdrawn_at is None}
    carried = [each for each in codings if each.sentence_id != sentence.pk]
    if carried:
        own = Coding.objects.active().filter(sentence=sentence, coder=carried[0].coder_id)
        codes = set(own.values_list("code__identifier", flat=True))
        active |= {each.pk for each in carried if each.code.identifier in codes}
    return active


def _list_known(sentence_ids: Collection[int], coder: User) -> set[int]:
    """Those of the sentences on which she has her own word, or has seen others'."""
    decided = Decision.objects.active().filter(sentence__in=sentence_ids, coder=coder)
    revealed = Reveal.objects.filter(sentence__in=sentence_ids, coder=coder)
    return {*decided.values_list("sentence", flat=True), *revealed.values_list("sentence", flat=True)}


def find_present_codes(project: Project, suggestions: Collection[Suggestion]) -> dict[int, tuple[Code | None, str]]:
    """By suggestion: its code as it is now, or ``None`` and why there is none. Reads suggestion.code.

    Two queries, one more where a code is no longer in the codebook.
    """
    version = current_version(project)
    wanted = {each.code.identifier for each in suggestions}
    rows = Code.objects.filter(version=version, identifier__in=wanted).select_related("family", "version")
    codes = {code.identifier: code for code in rows}
    ends = _explain_ends(project, wanted - set(codes)) if wanted - set(codes) else {}
    found: dict[int, tuple[Code | None, str]] = {}
    for each in suggestions:
        identifier = each.code.identifier
        obstacle = ""
        if version is None:
            obstacle = "This study has no published codebook."
        elif identifier not in codes:
            end = ends.get(identifier, "it is no longer part of it")
            gone = f"The current codebook ({version}) no longer has the code {each.code.name}"
            obstacle = f"{gone}: {end}. You can dismiss this suggestion, but not keep it."
        found[each.pk] = (codes.get(identifier), obstacle)
    return found


def _explain_ends(project: Project, gone: Collection[str]) -> dict[str, str]:
    changes = CodeChange.objects.filter(
        version__project=project, version__status=CodebookVersion.Status.PUBLISHED, from_identifier__in=gone
    ).order_by("version__number", "pk")
    words = {
        CodeChange.Kind.MERGED: "it was merged into another code in {}",
        CodeChange.Kind.SPLIT: "it was split in {}, and it is not known which part is meant",
        CodeChange.Kind.RETIRED: "it was retired in {}",
    }
    ends = changes.filter(kind__in=words).select_related("version")
    return {each.from_identifier: words[CodeChange.Kind(each.kind)].format(each.version) for each in ends}


def find_showing(sentence: Sentence, coder: User) -> Showing | None:
    """Her last look at the suggestions of the sentence."""
    return Showing.objects.filter(sentence=sentence, coder=coder).order_by("-pk").first()


def was_shown(suggestion: Suggestion, coder: User) -> bool:
    """Whether the suggestion was among those of any look of hers. Reads suggestion.sentence."""
    return find_look_at(suggestion, coder) is not None


def find_look_at(suggestion: Suggestion, coder: User) -> Showing | None:
    """Her last look in which the suggestion was shown: it may have been at another sentence of its turn then. Reads
    suggestion.sentence."""
    looks = Showing.objects.filter(sentence__turn=suggestion.sentence.turn_id, coder=coder).order_by("-pk")
    return next((each for each in looks if suggestion.pk in each.suggestions), None)
