"""Put codes on a study by the tens of thousands: plain rows without audit events, for measurements only."""

from __future__ import annotations

import argparse
import json
import random
import uuid
from collections.abc import Iterator

from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Enactment, Level
from transcripts.corpus.models import Sentence, Turn
from transcripts.negotiation.pure.records import STATUSES
from transcripts.studies.models import Study

ROWS_AT_A_TIME = 5_000
SEED = 7


def find_codes(study: Study) -> list[Code]:
    """The codes that go on single sentences and carry a level: themes, and those like them."""
    families = {"family__unit": CodeFamily.Unit.SENTENCE, "family__carries_level": True}
    return list(Code.objects.filter(version=current_version(study), **families).select_related("family").order_by("pk"))


def insert_codings(study: Study, *, coder: str, count: int) -> int:
    """Spread ``count`` codings of one person evenly over the interviews of a study; returns how many were stored."""
    user = User.objects.get(username=coder)
    group: list[Coding] = []
    stored = 0
    for coding in _make_codings(study, user, count):
        group.append(coding)
        if len(group) == ROWS_AT_A_TIME:
            stored += len(Coding.objects.bulk_create(group))
            group = []
    return stored + len(Coding.objects.bulk_create(group))


def insert_entries(study: Study, *, coder: str, count: int) -> None:
    """Enter a feature, and put a move, on each of the first ``count`` answers of every thread."""
    user, version, now = User.objects.get(username=coder), current_version(study), timezone.now()
    chance = random.Random(SEED)
    features, moves = (
        list(Code.objects.filter(version=version, identifier__startswith=prefix, is_category=False).order_by("pk"))
        for prefix in ("feature.", "move.")
    )
    rows: list[Coding] = []
    for interview in study.interviews.all():
        turns = interview.turns.filter(is_answer=True).order_by("position")[:count]
        for turn in turns:
            sentence = turn.sentences.order_by("start")[0]
            status = {"status": chance.choice(STATUSES)}
            rows += [
                Coding(
                    sentence=sentence,
                    code=chance.choice(codes),
                    coder=user,
                    attributes=attributes,
                    enactment=enactment,
                    idempotency_key=uuid.UUID(int=chance.getrandbits(128), version=4),
                    created_at=now,
                )
                for codes, attributes, enactment in ((features, status, ""), (moves, {}, Enactment.ENACTED))
            ]
    # A move may be coded there already.
    Coding.objects.bulk_create(rows, ignore_conflicts=True)


def _make_codings(study: Study, user: User, count: int) -> Iterator[Coding]:
    chance = random.Random(SEED)
    codes = find_codes(study)
    answers = Sentence.objects.filter(turn__interview__study=study, turn__role=Turn.Role.MODEL)
    sentences = list(answers.order_by("pk").values_list("pk", flat=True))
    now = timezone.now()
    for number in range(count):
        is_latent = chance.random() < 0.1
        code = codes[number % len(codes)]
        yield Coding(
            sentence_id=sentences[number * len(sentences) // count],
            code=code,
            coder=user,
            enactment=Enactment.DESCRIBED if code.family.carries_enactment else "",
            level=Level.LATENT if is_latent else Level.SEMANTIC,
            note="Read from the sentence before, as an invented note." if is_latent else "",
            idempotency_key=uuid.UUID(int=chance.getrandbits(128), version=4),
            created_at=now,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("coder")
    parser.add_argument("--count", type=int, required=True)
    given = parser.parse_args()
    print(json.dumps({"stored": insert_codings(Study.objects.get(slug="bench"), coder=given.coder, count=given.count)}))


if __name__ == "__main__":
    main()
