"""Two coders who read two interviews, and do not always read alike."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID, uuid4

from tests.transcripts.coding.desk_cast import decide, find_code, put
from tests.transcripts.rounds.round_cast import answers, bring_in
from transcripts.accounts.models import User
from transcripts.agreement import actions
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import fingerprint
from transcripts.agreement.queries import list_families
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.models import Study

BALANCE, COMPASSION = "theme.balance", "theme.compassion"


class Dispute(NamedTuple):
    """``differing``: three sentences that the two read differently, in the order of the text; of six both decided."""

    study: Study
    themes: CodeFamily
    talks: list[Interview]
    differing: list[Sentence]
    alike: list[Sentence]


def stage_dispute(study: Study, owner: User, first: User, second: User) -> Dispute:
    talks = bring_in(study, owner, ["Model A", "Model B"])
    early, late = answers(talks[0]), answers(talks[1])
    balance, compassion = find_code(study, BALANCE), find_code(study, COMPASSION)
    put(early[0], balance, first, level="latent", note="Weighs in silence.")
    put(early[0], compassion, second)
    for sentence in (early[1], late[1]):
        decide(sentence, first)
        decide(sentence, second)
    for sentence in (early[2], late[2]):
        put(sentence, balance, first)
    put(early[2], balance, second)
    decide(late[2], second)
    put(late[0], balance, first)
    put(late[0], balance, second)
    put(late[0], compassion, second)
    themes = next(each for each in list_families(study) if each.identifier == "themes")
    return Dispute(study, themes, talks, [early[0], late[0], late[2]], [early[1], early[2], late[1]])


def settle(
    dispute: Dispute,
    sentence: Sentence,
    by: User,
    outcome: str = "both",
    *,
    chosen: User | None = None,
    codes: tuple[str, ...] = (),
    reason: str = "It bears both.",
    revision: int = 0,
    idempotency_key: UUID | None = None,
    shown: str | None = None,
) -> Adjudication:
    """Adjudicate a sentence for the themes."""
    readings = actions.read_readings(dispute.study, dispute.themes, sentence)
    return actions.adjudicate(
        study=dispute.study,
        family=dispute.themes,
        sentence=sentence,
        outcome=outcome,
        reason=reason,
        chosen_coder=chosen.pk if chosen else None,
        codes=codes,
        shown=fingerprint(readings) if shown is None else shown,
        revision=revision,
        idempotency_key=idempotency_key or uuid4(),
        by=by,
    )
