"""Two coders who read two interviews, and do not always read alike.

Worked examples with their sources, and tables for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.rounds.cast import answers, bring_in
from transcripts.agreement import actions
from transcripts.agreement.pure.figures import fingerprint
from transcripts.agreement.pure.measuring import LabelTable
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


def stage_dispute(study, owner, first, second):
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
    dispute,
    sentence,
    by,
    outcome="both",
    *,
    chosen=None,
    codes=(),
    reason="It bears both.",
    revision=0,
    idempotency_key=None,
    shown=None,
):
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


EXAMPLES = json.loads(
    (Path(__file__).parents[2] / "data" / "agreement" / "worked_examples.json").read_text(encoding="utf-8")
)
NAMES = ("anna", "ben", "cem", "dana", "edda", "finn")


def count_raters(table):
    """What `measure_fleiss_kappa` takes, from a table units x categories of how many raters gave a unit a category."""
    counts = np.asarray(table, np.float64)
    return np.asarray(float(len(counts))), (counts * (counts - 1)).sum(), counts.sum(axis=0)


def make_table(labels, *, clusters=None, code="balance"):
    """A table of one code: a row for each coder, 1, 0, or None where not decided."""
    values = np.array([[np.nan if each is None else each for each in row] for row in labels], dtype=float)
    units = values.shape[1]
    return LabelTable(
        NAMES[: len(labels)],
        (code,),
        (values == 1)[None],
        ~np.isnan(values),
        np.arange(units) if clusters is None else np.array(clusters, dtype=np.intp),
    )


def make_sets_table(sets):
    """A table of several codes: for each coder the codes she put on each unit."""
    coders = tuple(sets)
    codes = tuple(sorted({code for each in sets.values() for unit in each for code in unit}))
    units = len(sets[coders[0]])
    labels = np.array([[[code in unit for unit in sets[coder]] for coder in coders] for code in codes])
    return LabelTable(coders, codes, labels, np.ones((len(coders), units), dtype=bool), np.arange(units))
