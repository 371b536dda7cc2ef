"""What was suggested for a sentence, annotator by annotator, and what one person made of it."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from auditapp.preannotation.models import Annotator, CodeChoice, CriticReading, Response, Showing, Suggestion
from auditapp.preannotation.suggestions.pure.placing import CutTurn
from auditapp.preannotation.suggestions.queries.boundary_edits import find_words, read_turns
from auditapp.preannotation.suggestions.queries.latest_answers import Origin, Spoken, read_spoken
from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Reveal
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project


class Evidence(NamedTuple):
    """A sentence around the words an annotator names as its evidence; those are empty where it named none."""

    before: str
    quote: str
    after: str


class Offer(NamedTuple):
    """A suggestion beside what this person made of it (``None``: nothing that stands).

    ``code`` is the code as it is now; where there is none, ``obstacle`` says why the suggestion cannot be kept.
    ``is_changed``: the code means something else since the annotator read it. ``is_off``: what she had kept was taken off
    or changed since.
    """

    suggestion: Suggestion
    response: Response | None
    evidence: Evidence
    code: Code | None
    obstacle: str
    is_changed: bool
    is_off: bool
    critic: CriticReading | None


class AnnotatorWord(NamedTuple):
    """What one annotator says of a sentence, in the order shown.

    ``read``, ``partly`` and ``silent``: the families for whose codes it read the sentence, those for which it read a part
    of what it is now, and those it was asked for and gave no answer. ``is_cut_since``: what it said is about earlier
    breaks. ``unplaced``: suggestions for what held words of this sentence that are read nowhere now, as far as she may
    know of them. ``reversed``: suggestions left out because its critic is believed with it. ``elsewhere``: codes for
    which another annotator, or none, is chosen, so that its word on them is not shown.
    """

    annotator: Annotator
    read: list[str]
    partly: list[str]
    silent: list[str]
    is_cut_since: bool
    unplaced: int
    offers: list[Offer]
    reversed: int
    elsewhere: int


class MachineWord(NamedTuple):
    """What every annotator says of a sentence. ``flags`` name what in its turn looks like instructions to a machine.

    ``is_left_aside``: somebody read it, but only for codes on which nobody's, or another's, word is asked for.
    """

    words: list[AnnotatorWord]
    flags: list[str]
    is_left_aside: bool = False

    @property
    def offers(self) -> list[Offer]:
        return [offer for word in self.words for offer in word.offers]

    @property
    def suggestions(self) -> list[int]:
        """The numbers of the suggestions in the order shown."""
        return [offer.suggestion.pk for offer in self.offers]


class _Asked(NamedTuple):
    """Who looks at which sentence, the order in which she saw suggestions before, and its turn where it was cut anew."""

    sentence: Sentence
    coder: User
    logged: Sequence[int]
    cut: CutTurn | None


class _Look(NamedTuple):
    """One person's look at a sentence, with all its suggestions and what stands beside them.

    ``unplaced``: suggestions about words of this sentence and of others, which are read nowhere; only those of which she
    has her own word on every one of these, for they tell that a machine put something there.
    """

    sentence: Sentence
    coder: User
    logged: Sequence[int]
    suggestions: Sequence[Suggestion]
    unplaced: Sequence[Suggestion]
    choices: Mapping[str, CodeChoice]
    critics: Mapping[int, CriticReading]
    responses: Mapping[int, Response]
    standing: Collection[int]
    codes: PresentCodes


class PresentCodes(NamedTuple):
    """The codes of the current version by identifier, and what became of those that are no more."""

    version: CodebookVersion | None
    codes: Mapping[str, Code]
    ends: Mapping[str, str]

    def find(self, suggestion: Suggestion) -> tuple[Code | None, str]:
        """The code as it is now, or why there is none."""
        identifier = suggestion.code.identifier
        if self.version is None:
            return None, "This study has no published codebook."
        if (code := self.codes.get(identifier)) is not None:
            return code, ""
        end = self.ends.get(identifier, "it is no longer in it")
        was = f"The current codebook ({self.version}) has no code {suggestion.code.name} any more"
        return None, f"{was}: {end}. It can be left, not kept."


def read_offers(project: Project, sentence: Sentence, coder: User, *, logged: Sequence[int] = ()) -> MachineWord:
    """What annotators say of ``sentence``, as ``coder`` may see it after her own decision.

    ``logged`` is the order in which she saw suggestions before; what came since follows. Eleven queries, whatever the
    study holds, up to four more where its breaks were corrected. Reads sentence.turn.
    """
    cut = read_turns([sentence.turn_id])[sentence.turn_id] if sentence.made_by_id is not None else None
    spoken = read_spoken(project, sentence, cut)
    look = _read_look(project, _Asked(sentence, coder, logged, cut), spoken)
    words = [
        word
        for each in sorted(spoken, key=lambda each: _draw(look, "annotator", each.annotator.pk))
        if (word := _hear(each, look)) is not None
    ]
    flags = {flag for each in spoken for flag in each.flags}
    return MachineWord(words, sorted(flags), is_left_aside=bool(spoken) and not words)


def _draw(look: _Look, what: str, pk: int) -> float:
    """A place in an order that is another one for every coder and sentence, and the same at every look."""
    seed = f"{look.sentence.pk} {look.coder.pk} {what} {pk}"
    return random.Random(seed).random()  # noqa: S311 - an order, not a secret


def _hear(spoken: Spoken, look: _Look) -> AnnotatorWord | None:
    """What is shown of one annotator; ``None`` where its word is not asked for on any code it was asked about."""
    mine = {code for code in spoken.asked if _is_heard(spoken.annotator, look.choices.get(code))}
    if not mine:
        return None
    places = {pk: place for place, pk in enumerate(look.logged)}
    standing = [each for each in look.suggestions if each.code.identifier in mine and _stands(each, spoken)]
    reversed_ = [each for each in standing if _is_left_to_critic(each, look)]
    offered = sorted(
        (each for each in standing if each not in reversed_),
        key=lambda each: (places.get(each.pk, len(places)), _draw(look, "suggestion", each.pk)),
    )
    read, partly, silent = _name_families(spoken, mine)
    lost = [each for each in look.unplaced if each.code.identifier in mine and _stands(each, spoken)]
    return AnnotatorWord(
        annotator=spoken.annotator,
        read=read,
        partly=partly,
        silent=silent,
        is_cut_since=bool(spoken.cut_since & mine),
        unplaced=sum(not _is_left_to_critic(each, look) for each in lost),
        offers=[_offer(each, look) for each in offered],
        reversed=len(reversed_),
        elsewhere=len(spoken.asked) - len(mine),
    )


def _is_heard(annotator: Annotator, choice: CodeChoice | None) -> bool:
    return choice is None or choice.annotator_id == annotator.pk


def _stands(suggestion: Suggestion, spoken: Spoken) -> bool:
    """Whether the suggestion came in the annotator's latest answer about its code."""
    origin = Origin("cell", suggestion.cell_id) if suggestion.cell_id else Origin("run", suggestion.run_id or 0)
    is_own = suggestion.annotator_id == spoken.annotator.pk
    return is_own and spoken.find_origin(suggestion.code.identifier) == origin


def _is_left_to_critic(suggestion: Suggestion, look: _Look) -> bool:
    choice, critic = look.choices.get(suggestion.code.identifier), look.critics.get(suggestion.pk)
    return bool(choice and choice.with_critic and critic and critic.verdict == CriticReading.Verdict.REVERSED)


def _name_families(spoken: Spoken, mine: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    """The families it read the sentence for, with how many of their codes where not all, those for which it read a part
    of it, and those it said nothing of."""
    asked: dict[str, list[str]] = {}
    for code in sorted(mine):
        asked.setdefault(spoken.families.get(code, code), []).append(code)
    read: list[str] = []
    partly: list[str] = []
    silent: list[str] = []
    for family, codes in sorted(asked.items()):
        answered = sum(code in spoken.latest for code in codes)
        if answered:
            read.append(family if answered == len(codes) else f"{family} ({answered} of {len(codes)} codes)")
        elif any(code in spoken.partly for code in codes):
            partly.append(family)
        else:
            silent.append(family)
    return read, partly, silent


def _offer(suggestion: Suggestion, look: _Look) -> Offer:
    code, obstacle = look.codes.find(suggestion)
    response = look.responses.get(suggestion.pk)
    return Offer(
        suggestion=suggestion,
        response=response if response and response.verdict != Response.Verdict.UNDONE else None,
        evidence=_cut_out(suggestion, look.sentence),
        code=code,
        obstacle=obstacle,
        is_changed=code is not None and code.meaning_version > suggestion.code.version.number,
        is_off=response is not None and response.coding is not None and response.coding.pk not in look.standing,
        critic=look.critics.get(suggestion.pk),
    )


def _cut_out(suggestion: Suggestion, sentence: Sentence) -> Evidence:
    text, start, end = sentence.turn.text, suggestion.quote_start, suggestion.quote_end
    if start is None or end is None or not sentence.start <= start < end <= sentence.end:
        return Evidence(text[sentence.start : sentence.end], "", "")
    return Evidence(text[sentence.start : start], text[start:end], text[end : sentence.end])


def _read_look(project: Project, asked: _Asked, spoken: Sequence[Spoken]) -> _Look:
    sentence, coder, logged, cut = asked
    annotators = [each.annotator for each in spoken]
    versions = {annotator.version_id: annotator.version for annotator in annotators}
    places = [sentence.pk, *(cut.list_earlier(sentence.pk) if cut else ())]
    rows = Suggestion.objects.filter(sentence__in=places, annotator__in=annotators)
    found = list(rows.select_related("code__family", "sentence").order_by("pk"))
    for suggestion in found:
        suggestion.code.version = versions[suggestion.code.version_id]
    suggestions, unplaced = _part(found, sentence, coder, cut)
    critics = CriticReading.objects.filter(suggestion__in=found).exclude(verdict="").order_by("cell_id")
    responses = Response.objects.filter(suggestion__in=suggestions, coder=coder, superseded_at__isnull=True)
    choices = CodeChoice.objects.filter(project=project, superseded_at__isnull=True)
    answered = {response.suggestion_id: response for response in responses.select_related("coding__code")}
    return _Look(
        sentence=sentence,
        coder=coder,
        logged=logged,
        suggestions=suggestions,
        unplaced=unplaced,
        choices={choice.code_identifier: choice for choice in choices},
        critics={critic.suggestion_id: critic for critic in critics},
        responses=answered,
        standing=_find_standing(answered.values(), sentence),
        codes=read_present_codes(project, {each.code.identifier for each in suggestions}),
    )


def _part(
    found: Sequence[Suggestion], sentence: Sentence, coder: User, cut: CutTurn | None
) -> tuple[list[Suggestion], list[Suggestion]]:
    """Those that are read at the sentence, and those about words of it that are read nowhere and she may know of."""
    if cut is None:
        return list(found), []
    places = {each.pk: cut.find_place(find_words(each)) for each in found}
    touched = {each.pk: cut.list_touched(find_words(each)) for each in found if places[each.pk] is None}
    lost = {pk: sentences for pk, sentences in touched.items() if sentence.pk in sentences}
    known = _list_known({pk for sentences in lost.values() for pk in sentences}, coder) if lost else set()
    return (
        [each for each in found if places[each.pk] == sentence.pk],
        [each for each in found if each.pk in lost and known.issuperset(lost[each.pk])],
    )


def _find_standing(responses: Iterable[Response], sentence: Sentence) -> set[int]:
    """The codings people kept that stand: of those on a sentence that was cut anew since, where the code stands here."""
    codings = [response.coding for response in responses if response.coding is not None]
    standing = {each.pk for each in codings if each.withdrawn_at is None}
    carried = [each for each in codings if each.sentence_id != sentence.pk]
    if carried:
        own = Coding.objects.filter(sentence=sentence, coder=carried[0].coder_id, withdrawn_at__isnull=True)
        codes = set(own.values_list("code__identifier", flat=True))
        standing |= {each.pk for each in carried if each.code.identifier in codes}
    return standing


def _list_known(sentence_ids: Collection[int], coder: User) -> set[int]:
    """Those of the sentences on which she has her own word, or has seen others'."""
    decided = Decision.objects.filter(sentence__in=sentence_ids, coder=coder, withdrawn_at__isnull=True)
    revealed = Reveal.objects.filter(sentence__in=sentence_ids, coder=coder)
    return {*decided.values_list("sentence", flat=True), *revealed.values_list("sentence", flat=True)}


def read_present_codes(project: Project, identifiers: Collection[str]) -> PresentCodes:
    """Those codes as they are now. Two queries, one more where one of them is no more."""
    version = current_version(project)
    found = Code.objects.filter(version=version, identifier__in=identifiers).select_related("family", "version")
    codes = {code.identifier: code for code in found}
    gone = set(identifiers) - set(codes)
    return PresentCodes(version, codes, _tell_ends(project, gone) if gone else {})


def _tell_ends(project: Project, gone: Collection[str]) -> dict[str, str]:
    changes = CodeChange.objects.filter(
        version__project=project, version__status=CodebookVersion.Status.PUBLISHED, from_identifier__in=gone
    ).order_by("version__number", "pk")
    words = {
        CodeChange.Kind.MERGED: "it was merged into another code in {}",
        CodeChange.Kind.SPLIT: "it was split in {}, and which part is meant is not known",
        CodeChange.Kind.RETIRED: "it was retired in {}",
    }
    told = changes.filter(kind__in=words).select_related("version")
    return {each.from_identifier: words[CodeChange.Kind(each.kind)].format(each.version) for each in told}


def find_showing(sentence: Sentence, coder: User) -> Showing | None:
    """Her last look at the suggestions of the sentence."""
    return Showing.objects.filter(sentence=sentence, coder=coder).order_by("-pk").first()


def was_shown(suggestion: Suggestion, coder: User) -> bool:
    """Whether the suggestion was among those of any look of hers. Reads suggestion.sentence."""
    return find_look_at(suggestion, coder) is not None


def find_look_at(suggestion: Suggestion, coder: User) -> Showing | None:
    """Her last look in which the suggestion was shown: it may have stood at another sentence of its turn then. Reads
    suggestion.sentence."""
    looks = Showing.objects.filter(sentence__turn=suggestion.sentence.turn_id, coder=coder).order_by("-pk")
    return next((each for each in looks if suggestion.pk in each.suggestions), None)
