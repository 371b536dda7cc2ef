"""What a person decides about a file before it comes in: which conversations, who is who, the model, the consent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from transcripts.corpus.pure.readers.base import CONSENT_SCOPES, NOTHING_SAID, ROLES, Naming, ReadInterview
from transcripts.corpus.pure.unseen import drop_unseen

MAX_TITLE_LENGTH = 300
SPOKEN = frozenset({"utterance", "reasoning"})
TEXT = "text"
"""What may be chosen in place of a role for a name that does not speak."""


class ChoiceRefused(ValueError):
    """Something that cannot be chosen: a sentence, and the option that is to be changed."""

    def __init__(self, option: str, sentence: str) -> None:
        super().__init__(sentence)
        self.option = option


@dataclass(frozen=True)
class Choices:
    """``format`` is a key of the readers' formats or "auto"; ``naming`` says which names speak and which do not;
    ``leave_out`` are ids of conversations, ``roles`` the role of each speaker by name, ``titles`` new titles by id. ``model`` is
    given to conversations whose file names none, ``consent`` (true by scope) with its ``basis`` to those whose file says nothing
    of the scope. With ``mask`` what is new is imported masked."""

    format: str = "auto"
    naming: Naming = NOTHING_SAID
    leave_out: frozenset[str] = frozenset()
    roles: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    consent: Mapping[str, bool] = field(default_factory=dict)
    basis: str = ""
    mask: bool = False


def read_choices(options: Mapping[str, Any]) -> Choices:
    """Choices as they are kept with a job: of JSON. Raises ``ChoiceRefused``."""
    roles = dict(options.get("roles") or {})
    for speaker, role in roles.items():
        if role not in (*ROLES, TEXT):
            known = ", ".join(ROLES)
            raise ChoiceRefused(
                "roles",
                f"There is no role {role!r} for {speaker}. Choose {known}; or {TEXT} for a name that does not speak.",
            )
    speakers = frozenset(filter(None, (str(name).strip().removesuffix(":") for name in options.get("speakers") or ())))
    texts = frozenset(speaker for speaker, role in roles.items() if role == TEXT)
    if both := sorted(speakers & texts):
        raise ChoiceRefused("speakers", f"{both[0]} cannot be a speaker and text at once. Choose one of the two.")
    titles = {each: drop_unseen(str(title)).strip() for each, title in dict(options.get("titles") or {}).items()}
    if long := next((title for title in titles.values() if len(title) > MAX_TITLE_LENGTH), None):
        sentence = f"A title of {len(long):,} characters is too long; at most {MAX_TITLE_LENGTH} are kept."
        raise ChoiceRefused("titles", sentence)
    consent = dict(options.get("consent") or {})
    for scope in consent:
        if scope not in CONSENT_SCOPES:
            raise ChoiceRefused("consent", f"There is no consent for {scope!r}. Choose {', '.join(CONSENT_SCOPES)}.")
    basis = str(options.get("basis") or "").strip()
    if consent and not basis:
        raise ChoiceRefused("basis", "A consent needs its basis, such as a signed form and its date.")
    return Choices(
        format=options.get("format") or "auto",
        naming=Naming(speakers, texts),
        leave_out=frozenset(options.get("leave_out") or ()),
        roles={speaker: role for speaker, role in roles.items() if role != TEXT},
        titles={each: title for each, title in titles.items() if title},
        model=drop_unseen(str(options.get("model") or "")).strip()[:200],
        consent=consent,
        basis=basis,
        mask=bool(options.get("mask")),
    )


def find_left_out(hung: Mapping[str, str | None], choices: Choices) -> tuple[set[str], list[str]]:
    """The ids of the threads of a file that stay out, and warnings that count them. ``hung`` has every thread of the file with
    the one that it hangs on, if any: what hangs on a thread that is left out stays out with it."""
    out = set(choices.leave_out & hung.keys())
    chosen = len(out)
    grows = chosen > 0
    while grows:
        hanging = {thread for thread, above in hung.items() if above in out}
        grows = not hanging <= out
        out |= hanging
    warnings = []
    if chosen:
        warnings.append(f"Left out as chosen: {chosen:,} of {len(hung):,} conversations.")
    if len(out) > chosen:
        warnings.append(f"{len(out) - chosen:,} threads that hang on them were left out too.")
    return out, warnings


def apply_choices(interview: ReadInterview, choices: Choices) -> ReadInterview:
    """An interview as it is to come in."""
    changed: dict[str, Any] = {}
    if choices.roles:
        turns = tuple(
            replace(turn, role=choices.roles[turn.speaker])
            if turn.channel in SPOKEN and turn.speaker in choices.roles
            else turn
            for turn in interview.turns
        )
        changed["turns"] = turns
    if interview.external_id in choices.titles:
        changed["title"] = choices.titles[interview.external_id]
    if choices.model and not interview.model_label:
        changed["model_label"] = choices.model
    if unsaid := {scope: given for scope, given in choices.consent.items() if scope not in interview.consent}:
        changed["consent"] = {**unsaid, **interview.consent}
        changed["consent_basis"] = interview.consent_basis or choices.basis
    return replace(interview, **changed) if changed else interview
