"""The contents of a file before anything is stored, and a person's decisions about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from transcripts.formats.interviews.base import CONSENT_SCOPES, NOTHING_SAID, ROLES, Naming, ReadInterview, ReadTurn
from transcripts.formats.text_input import drop_unseen

MAX_TITLE_LENGTH = 300
SPOKEN = frozenset({"utterance", "reasoning"})
TEXT = "text"
"""The choice, instead of a role, for a name that is not a speaker."""
LISTED = 500
"""The number of conversations that are shown one by one."""
SPEAKERS = 40
FIRST_WORDS = 160
FIRST_TURNS = 2


class ChoiceRefused(ValueError):
    """An invalid choice: a sentence, and the option to change."""

    def __init__(self, option: str, sentence: str) -> None:
        super().__init__(sentence)
        self.option = option


@dataclass(frozen=True)
class Choices:
    """``format`` is a key of the readers' formats or "auto"; ``naming`` says which names speak and which do not; ``leave_out`` are
    ids of conversations, ``roles`` the role of each speaker by name, ``titles`` new titles by id. ``model`` applies to
    conversations whose file names none, ``consent`` (true by scope) with its ``basis`` to those whose file says nothing about the
    scope. With ``mask``, new threads are imported masked."""

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
    """Read choices from the JSON that a job keeps. Raises ``ChoiceRefused``."""
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
        raise ChoiceRefused("speakers", f"{both[0]} cannot be both a speaker and text. Choose one of the two.")
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
    """The ids of the threads of a file that are left out, and warnings that count them. ``hung`` has every thread of the file with
    the one from which it continues, if any: threads that continue from one that is left out are left out too."""
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
        warnings.append(f"{len(out) - chosen:,} threads that continue from them were left out too.")
    return out, warnings


def apply_choices(interview: ReadInterview, choices: Choices) -> ReadInterview:
    """An interview with the choices applied."""
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


class Preview:
    """A summary of a file, added up thread by thread; the first few threads are kept in shortened form."""

    def __init__(self) -> None:
        self._threads = self._answers = self._reasoned = self._without_model = 0
        self._has_system_prompt = False
        self._relations: Counter[str] = Counter()
        self._roles: Counter[str] = Counter()
        self._channels: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._said: Counter[tuple[str, str]] = Counter()
        self._periods: tuple[str, str] | None = None
        self._listed: list[dict[str, Any]] = []

    def add(self, thread: ReadInterview, guessed: Sequence[ReadTurn]) -> None:
        """Count one more thread in the form in which it would be imported, and its speakers with the ``guessed`` roles."""
        self._threads += 1
        self._relations[thread.relation] += 1
        self._models[thread.model_label] += 1
        self._reasoned += _count_reasoned(thread.turns)
        for turn in thread.turns:
            self._roles[turn.role] += 1
            self._channels[turn.channel] += 1
            self._answers += _is_answer(turn)
            self._has_system_prompt = self._has_system_prompt or turn.role == "system"
        for turn in guessed:
            if turn.channel in SPOKEN:
                self._said[turn.speaker, turn.role] += 1
        if period := thread.period:
            first, last = self._periods or (period, period)
            self._periods = min(first, period), max(last, period)
        if len(self._listed) < LISTED:
            self._listed.append(_describe_thread(thread))

    def describe(
        self, *, reason: str, left_out: Mapping[str, int], read_as_text: Mapping[str, int] = MappingProxyType({})
    ) -> dict[str, Any]:
        """The preview as JSON: what the file is and why (``reason``), sums, speakers with their roles, the first
        conversations, what was left out and how often, and which names were ``read_as_text``, each with its lines."""
        models = Counter({model: times for model, times in self._models.items() if model})
        return {
            "reason": reason,
            "conversations": self._relations[""],
            "relations": {relation: times for relation, times in self._relations.items() if relation},
            "roles": dict(self._roles.most_common()),
            "channels": dict(self._channels),
            "answers": self._answers,
            "answers_with_reasoning": self._reasoned,
            "has_system_prompt": self._has_system_prompt,
            "models": [model for model, _ in models.most_common(20)],
            "without_model": self._models[""],
            "from": self._periods[0] if self._periods else "",
            "to": self._periods[1] if self._periods else "",
            "speakers": self._list_speakers(),
            "read_as_text": [
                {"name": name, "lines": lines} for name, lines in Counter(read_as_text).most_common(SPEAKERS)
            ],
            "left_out": [{"what": what, "times": times} for what, times in Counter(left_out).most_common(20)],
            "listed": self._listed,
            "unlisted": self._threads - len(self._listed),
        }

    def _list_speakers(self) -> list[dict[str, Any]]:
        """Every named person who speaks in only one role, with that role."""
        roles = Counter(speaker for speaker, _ in self._said)
        named = [
            (speaker, role, times)
            for (speaker, role), times in self._said.most_common()
            if speaker and roles[speaker] == 1
        ]
        return [{"name": speaker, "role": role, "turns": times} for speaker, role, times in named[:SPEAKERS]]


def _describe_thread(thread: ReadInterview) -> dict[str, Any]:
    spoken = [
        turn for turn in thread.turns if turn.channel == "utterance" and turn.role != "system" and turn.text.strip()
    ]
    return {
        "id": thread.external_id,
        "title": thread.title,
        "kind": thread.kind,
        "relation": thread.relation,
        "turns": len(thread.turns),
        "calls": sum(turn.channel == "tool_call" for turn in thread.turns),
        "model": thread.model_label,
        "period": thread.period,
        "first": [{"role": turn.role, "text": _shorten(turn.text)} for turn in spoken[:FIRST_TURNS]],
    }


def _is_answer(turn: ReadTurn) -> bool:
    return turn.role == "model" and turn.channel == "utterance"


def _count_reasoned(turns: Iterable[ReadTurn]) -> int:
    """The number of answers that have reasoning before them."""
    found, open_reasoning = 0, False
    for turn in turns:
        if turn.channel == "reasoning":
            open_reasoning = True
        elif _is_answer(turn):
            found += open_reasoning
            open_reasoning = False
        elif turn.role == "interviewer":
            open_reasoning = False
    return found


def _shorten(text: str) -> str:
    words = " ".join(text[: FIRST_WORDS * 4].split())
    return words if len(words) <= FIRST_WORDS else f"{words[: FIRST_WORDS - 1]}…"
