"""What was suggested for a sentence, annotator by annotator, and what one person made of it."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from auditapp.preannotation.models import Annotator, CodeChoice, CriticReading, Response, Showing, Suggestion
from auditapp.preannotation.queries.spoken import Origin, Spoken, read_spoken
from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.queries import current_version
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
    ``is_changed``: the code means something else since the annotator read it.
    """

    suggestion: Suggestion
    response: Response | None
    evidence: Evidence
    code: Code | None
    obstacle: str
    is_changed: bool
    critic: CriticReading | None


class AnnotatorWord(NamedTuple):
    """What one annotator says of a sentence, in the order shown.

    ``read`` and ``silent``: the families for whose codes it read the sentence, and those it was asked for and gave no
    answer. ``reversed``: suggestions left out because its critic is believed with it. ``elsewhere``: codes for which
    another annotator, or none, is chosen, so that its word on them is not shown.
    """

    annotator: Annotator
    read: list[str]
    silent: list[str]
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


class _Look(NamedTuple):
    """One person's look at a sentence, with all its suggestions and what stands beside them."""

    sentence: Sentence
    coder: User
    logged: Sequence[int]
    suggestions: Sequence[Suggestion]
    choices: Mapping[str, CodeChoice]
    critics: Mapping[int, CriticReading]
    responses: Mapping[int, Response]
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
    study holds. Reads sentence.turn.
    """
    spoken = read_spoken(project, sentence)
    look = _read_look(project, sentence, coder, spoken, logged)
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
    read, silent = _name_families(spoken, mine)
    return AnnotatorWord(
        annotator=spoken.annotator,
        read=read,
        silent=silent,
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
    return is_own and spoken.latest.get(suggestion.code.identifier) == origin


def _is_left_to_critic(suggestion: Suggestion, look: _Look) -> bool:
    choice, critic = look.choices.get(suggestion.code.identifier), look.critics.get(suggestion.pk)
    return bool(choice and choice.with_critic and critic and critic.verdict == CriticReading.Verdict.REVERSED)


def _name_families(spoken: Spoken, mine: Collection[str]) -> tuple[list[str], list[str]]:
    """The families it read the sentence for, with how many of their codes where not all, and those it said nothing of."""
    asked: dict[str, list[str]] = {}
    for code in sorted(mine):
        asked.setdefault(spoken.families.get(code, code), []).append(code)
    read: list[str] = []
    silent: list[str] = []
    for family, codes in sorted(asked.items()):
        answered = sum(code in spoken.latest for code in codes)
        if answered:
            read.append(family if answered == len(codes) else f"{family} ({answered} of {len(codes)} codes)")
        else:
            silent.append(family)
    return read, silent


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
        critic=look.critics.get(suggestion.pk),
    )


def _cut_out(suggestion: Suggestion, sentence: Sentence) -> Evidence:
    text, start, end = sentence.turn.text, suggestion.quote_start, suggestion.quote_end
    if start is None or end is None or not sentence.start <= start < end <= sentence.end:
        return Evidence(text[sentence.start : sentence.end], "", "")
    return Evidence(text[sentence.start : start], text[start:end], text[end : sentence.end])


def _read_look(
    project: Project, sentence: Sentence, coder: User, spoken: Sequence[Spoken], logged: Sequence[int]
) -> _Look:
    annotators = [each.annotator for each in spoken]
    versions = {annotator.version_id: annotator.version for annotator in annotators}
    found = Suggestion.objects.filter(sentence=sentence, annotator__in=annotators).select_related("code__family")
    suggestions = list(found.order_by("pk"))
    for suggestion in suggestions:
        suggestion.code.version = versions[suggestion.code.version_id]
    critics = CriticReading.objects.filter(suggestion__in=suggestions).exclude(verdict="").order_by("cell_id")
    responses = Response.objects.filter(suggestion__in=suggestions, coder=coder, superseded_at__isnull=True)
    choices = CodeChoice.objects.filter(project=project, superseded_at__isnull=True)
    return _Look(
        sentence=sentence,
        coder=coder,
        logged=logged,
        suggestions=suggestions,
        choices={choice.code_identifier: choice for choice in choices},
        critics={critic.suggestion_id: critic for critic in critics},
        responses={response.suggestion_id: response for response in responses.select_related("coding")},
        codes=read_present_codes(project, {each.code.identifier for each in suggestions}),
    )


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
    """Whether the suggestion was among those of any look of hers."""
    looks = Showing.objects.filter(sentence=suggestion.sentence_id, coder=coder).values_list("suggestions", flat=True)
    return any(suggestion.pk in shown for shown in looks)
