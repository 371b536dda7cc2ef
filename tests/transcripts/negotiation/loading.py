"""Loads records of negotiation, as a file has them, into a study: threads, turns, codings, links, pairs, sheets, scores.

Rows are written in bulk, past the actions, for a file may have more than a test should put key by key.
"""

import json
from collections import defaultdict
from typing import Any
from uuid import uuid4

from django.db.models import Max
from django.utils import timezone

from tests.conftest import make_member
from tests.support.worked_examples import read_example
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.models import Coding, Decision, Link
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence, Turn
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score

SENTENCE = "Words of some length. "
ROLES_OF_CHANNELS = {"reasoning", "tool_call", "tool_result"}
Line = dict[str, Any]


def read_check(number):
    """A worked example: its records, what is expected of the report, and the tolerance."""
    example = read_example(number)
    (text,) = example["files"].values()
    return [json.loads(line) for line in text.splitlines()], example["expected"], example["tolerance"]


def load(study, owner, lines):
    """Put the records into the study; returns the coders by name, who are made members."""
    of_kind = defaultdict(list)
    for line in lines:
        of_kind[line["record"]].append(line)
    _import_threads(study, owner, of_kind)
    turns = {
        (turn.interview.external_id, turn.position): turn
        for turn in Turn.objects.filter(interview__study=study).select_related("interview")
    }
    first = {each.turn_id: each for each in Sentence.objects.filter(turn__interview__study=study).order_by("-start")}
    coders = {}
    for line in (*of_kind["coding"], *of_kind["score"], *of_kind["decided"]):
        if line["coder"] not in coders:
            coders[line["coder"]] = make_member(study, owner, "coder", line["coder"])
    codes = add_codes(study, [*of_kind["coding"], *(each for each in of_kind["link"] if each.get("code"))])
    codings = _add_codings(of_kind["coding"], turns, first, codes, coders)
    _add_links(of_kind["link"], codings, turns, first, codes)
    if of_kind["decided"]:
        _add_decisions(of_kind["decided"], turns, coders)
    elif of_kind["pair"]:
        _decide_everything(study, coders.values())
    threads = {each.external_id: each for each in study.interviews.all()}
    _add_sheets(of_kind["thread"], threads, owner)
    Pair.objects.bulk_create(
        Pair(
            study=study,
            number=1,
            name=line["pair"],
            a=threads[line["a"]],
            b=threads[line["b"]],
            differs="one thing",
            expect=line["expect"],
            made_at=timezone.now(),
            made_by=owner,
        )
        for line in of_kind["pair"]
    )
    _add_scores(of_kind["score"], study, threads, coders, owner)
    return coders


def _import_threads(study, owner, of_kind):
    """Every thread comes in as a file brings it, with words of our own in each turn, so long that all starts lie in it."""
    latest = defaultdict(int)
    for line in of_kind["coding"]:
        place = line["thread"], line["turn"]
        latest[place] = max(latest[place], line["start"])
    turns = defaultdict(list)
    for line in sorted(of_kind["turn"], key=lambda each: each["turn"]):
        length = latest[line["thread"], line["turn"]] // len(SENTENCE) + 1
        turn = {"role": line["role"], "text": SENTENCE * length}
        if line["channel"] != "utterance":
            turn["channel"] = line["channel"]
        turns[line["thread"]].append(turn)
    lines = [
        json.dumps(
            {
                "id": line["thread"],
                "title": f"Thread {line['thread']}",
                "model": "Model A",
                "metadata": {"condition": line["condition"]} if line.get("condition") else {},
                "turns": turns[line["thread"]]
                or [{"role": "interviewer", "text": "Hello."}, {"role": "model", "text": "Hi."}],
            }
        )
        for line in of_kind["thread"]
    ]
    import_file(study=study, name="threads.jsonl", data="\n".join(lines).encode(), by=owner)
    assert study.interviews.count() >= len(lines)


def add_codes(study, lines):
    """The codes that the records name; those that the codebook lacks are added to its published version."""
    version = CodebookVersion.objects.get(study=study, status="published")
    codes = {each.identifier: each for each in version.codes.all()}
    last = version.families.aggregate(last=Max("position"))["last"] or 0
    for identifier in dict.fromkeys(line["code"] for line in lines):
        if identifier in codes:
            continue
        kind = identifier.partition(".")[0]
        family, _ = CodeFamily.objects.get_or_create(
            version=version,
            identifier=f"{kind}s",
            defaults={"name": f"{kind.title()}s", "unit": "turn", "position": last + len(codes)},
        )
        codes[identifier] = Code.objects.create(
            version=version, family=family, identifier=identifier, name=identifier, position=len(codes)
        )
    return codes


def _add_codings(lines, turns, first, codes, coders):
    """A coding begins where its record says: at its quote."""
    codings = {}
    sentences = defaultdict(list)
    for each in Sentence.objects.filter(turn__in=turns.values()).order_by("start"):
        sentences[each.turn_id].append(each)
    for line in lines:
        turn = turns[line["thread"], line["turn"]]
        # Two codings of one code on one sentence do not stand beside each other, so a turn has a sentence for each start.
        sentence = [each for each in sentences[turn.pk] if each.start <= line["start"]][-1]
        is_inside = line["start"] != sentence.start
        codings[line["id"]] = Coding(
            sentence=sentence,
            code=codes[line["code"]],
            coder=coders[line["coder"]],
            enactment=line.get("enactment", ""),
            attributes=line.get("attributes", {}),
            quote_start=line["start"] if is_inside else None,
            quote_end=line["start"] + 1 if is_inside else None,
            idempotency_key=uuid4(),
            created_at=timezone.now(),
        )
    Coding.objects.bulk_create(codings.values())
    return codings


def _add_links(lines, codings, turns, first, codes):
    threads = {turn.pk: thread for (thread, _), turn in turns.items()}
    made = []
    for line in lines:
        coding = codings[line["coding"]]
        turn = turns[threads[coding.sentence.turn_id], line["turn"]] if line.get("turn") else None
        made.append(
            Link(
                coding=coding,
                coder=coding.coder,
                kind=line["kind"],
                code=codes[line["code"]] if line.get("code") else None,
                sentence=first[turn.pk] if turn else None,
                idempotency_key=uuid4(),
                created_at=timezone.now(),
            )
        )
    Link.objects.bulk_create(made)


def _add_decisions(lines, turns, coders):
    """A record for each sentence that was decided."""
    waiting = {turn.pk: list(turn.sentences.order_by("-start")) for turn in turns.values()} if lines else {}
    Decision.objects.bulk_create(
        Decision(
            sentence=waiting[turns[line["thread"], line["turn"]].pk].pop(),
            coder=coders[line["coder"]],
            none_applies=True,
            idempotency_key=uuid4(),
            created_at=timezone.now(),
        )
        for line in lines
    )


def _decide_everything(study, coders):
    """Where a file says nothing of decisions, its threads count as read; a study says so by decisions alone."""
    sentences = list(Sentence.objects.filter(turn__interview__study=study, turn__is_answer=True))
    Decision.objects.bulk_create(
        Decision(sentence=each, coder=coder, none_applies=True, idempotency_key=uuid4(), created_at=timezone.now())
        for each in sentences
        for coder in coders
    )


def _add_sheets(lines, threads, owner):
    for line in lines:
        if line.get("relevant") or line.get("irrelevant"):
            sides = {
                side: [{"feature": each, "reason": "It matters here."} for each in line.get(side, [])]
                for side in ("relevant", "irrelevant")
            }
            CaseSheet.objects.create(
                interview=threads[line["thread"]], number=1, written_at=timezone.now(), written_by=owner, **sides
            )


def _add_scores(lines, study, threads, coders, owner):
    stances = {}
    for line in lines:
        if line["stance"] not in stances:
            name, _, number = line["stance"].partition("/")
            stances[line["stance"]] = NormativeStance.objects.create(
                study=study,
                name=name,
                number=int(number),
                statement="What is to be achieved.",
                author="A team",
                sha256="0" * 64,
                written_at=timezone.now(),
                written_by=owner,
            )
    Score.objects.bulk_create(
        Score(
            stance=stances[line["stance"]],
            interview=threads[line["thread"]],
            criterion=line["criterion"],
            coder=coders[line["coder"]],
            value=line["value"],
            idempotency_key=uuid4(),
            created_at=timezone.now(),
        )
        for line in lines
    )
