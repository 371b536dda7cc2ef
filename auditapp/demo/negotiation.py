"""Negotiation in the demo study: a run with tools and reasoning, pairs, challenges, and scores under two stances that differ.

Everything is invented. Two coders read the threads blind, sign them off and score one of them; each step is the action that a
page would call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version
from transcripts.coding.actions import add_coding, decide_sentence
from transcripts.coding.actions.codings import open_stage
from transcripts.coding.actions.links import add_link
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.negotiation.actions import Evidence, pair_threads, put_score, write_case_sheet, write_stance
from transcripts.negotiation.models import NormativeStance
from transcripts.rounds.actions import complete_assignment
from transcripts.rounds.models import Assignment, Round
from transcripts.studies.models import Study

FILE = Path(__file__).parent / "data" / "negotiation.json"
MODEL = "Demo agent E (invented)"
SENTENCE_LINKS = ("warrant", "revises")
Key = Callable[..., UUID]
Line = Mapping[str, Any]


def bring_in_threads(study: Study, owner: User) -> None:
    """The threads, what matters in two of their cases, their pairs, and the stances."""
    content = _read_content()
    import_threads(study, "negotiation.jsonl", content["threads"], owner)
    for sheet in content["case_sheets"]:
        write_case_sheet(
            study=study,
            interview=_find_thread(study, sheet["thread"]),
            relevant=_list_features(sheet["relevant"]),
            irrelevant=_list_features(sheet["irrelevant"]),
            reason=sheet["reason"],
            by=owner,
        )
    for pair in content["pairs"]:
        a, b = (_find_thread(study, pair[side]) for side in ("a", "b"))
        what = {key: pair[key] for key in ("name", "differs", "expect")}
        pair_threads(study=study, a=a, b=b, **what, by=owner)
    for stance in content["stances"]:
        write_stance(stance=NormativeStance(study=study, **stance), by=owner)


def read_threads(study: Study, round_: Round, people: Mapping[str, User], key: Key) -> None:
    """Both coders code the threads of the round, score one of them under both stances, and sign everything off."""
    content = _read_content()
    version = current_version(study)
    codes = {code.identifier: code for code in Code.objects.filter(version=version).select_related("family", "version")}
    for thread in content["threads"]:
        interview = _find_thread(study, thread["id"])
        places = _read_places(interview)
        for name, person in people.items():
            for turn, given in zip(interview.turns.order_by("position"), thread["turns"], strict=True):
                if turn.channel == Turn.Channel.REASONING:
                    open_stage(study=study, turn=turn, by=person)
                for place, sentence in enumerate(given.get("sentences", ())):
                    coded = places[turn.position][place]
                    for entry in sentence["codes"][name]:
                        _code(study, coded, entry, codes=codes, places=places, person=person, key=key)
                    if turn.is_answer or turn.channel == Turn.Channel.REASONING:
                        decide_sentence(
                            study=study,
                            sentence=coded,
                            by=person,
                            idempotency_key=key("negotiation", coded.pk, name),
                        )
    _score(study, content, people, key)
    for thread in content["threads"]:
        for person in people.values():
            assignment = Assignment.objects.get(round=round_, interview=_find_thread(study, thread["id"]), coder=person)
            complete_assignment(assignment=assignment, by=person)


def _read_content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def import_threads(study: Study, name: str, threads: Iterable[Line], owner: User) -> None:
    """Import threads whose turns are given sentence by sentence."""
    lines = [json.dumps({**each, "turns": [_join_sentences(turn) for turn in each["turns"]]}) for each in threads]
    import_file(study=study, name=name, data="\n".join(lines).encode(), by=owner)


def _join_sentences(turn: Line) -> dict[str, Any]:
    """A turn as the file of interviews has it."""
    kept = {name: value for name, value in turn.items() if name != "sentences"}
    return {**kept, "text": " ".join(each["text"] for each in turn["sentences"])} if "sentences" in turn else kept


def _list_features(reasons: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"feature": f"feature.{name}", "reason": reason} for name, reason in reasons.items()]


def _find_thread(study: Study, external_id: str) -> Interview:
    return Interview.objects.get(study=study, external_id=external_id)


def _read_places(interview: Interview) -> dict[int, list[Sentence]]:
    """The sentences of each turn by its position."""
    found: dict[int, list[Sentence]] = {}
    sentences = Sentence.objects.current().filter(turn__interview=interview).select_related("turn__interview__study")
    for sentence in sentences.order_by("turn__position", "start"):
        found.setdefault(sentence.turn.position, []).append(sentence)
    return found


def _code(
    study: Study,
    sentence: Sentence,
    entry: Line,
    *,
    codes: Mapping[str, Code],
    places: Mapping[int, Sequence[Sentence]],
    person: User,
    key: Key,
) -> None:
    """One coding with its links."""
    coding = add_coding(
        study=study,
        sentence=sentence,
        code=codes[entry["code"]],
        by=person,
        idempotency_key=key("negotiation", sentence.pk, entry["code"]),
        values=CodingValues(enactment=entry.get("enactment", ""), attributes=entry.get("answers", {})),
    )
    for kind, end in _list_ends(entry, codes, places):
        add_link(
            study=study,
            coding=coding,
            kind=kind,
            by=person,
            idempotency_key=key("link", sentence.pk, entry["code"], kind, *(each.pk for each in end.values())),
            **end,
        )


def _list_ends(
    entry: Line, codes: Mapping[str, Code], places: Mapping[int, Sequence[Sentence]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for identifier in entry.get("acts_on", ()):
        yield "acts_on", {"code": codes[identifier]}
    for kind in SENTENCE_LINKS:
        if kind in entry:
            turn, place = entry[kind]
            yield kind, {"sentence": places[turn][place]}


def _score(study: Study, content: Line, people: Mapping[str, User], key: Key) -> None:
    stances = {stance.name: stance for stance in NormativeStance.objects.filter(study=study)}
    for each in (*content["scores"], *content["determinations"]):
        interview = _find_thread(study, each["thread"])
        places = _read_places(interview)
        turn = interview.turns.get(position=each["turn"]) if "turn" in each else None
        put_score(
            study=study,
            stance=stances[each["stance"]],
            interview=interview,
            criterion=each["criterion"],
            value=each["value"],
            note=each["note"],
            turn=turn,
            feature=each.get("feature", ""),
            evidence=[Evidence(places[position][place]) for position, place in each["evidence"]],
            by=people[each["coder"]],
            idempotency_key=key("score", each["coder"], each["stance"], each["criterion"], each.get("turn", "")),
        )
