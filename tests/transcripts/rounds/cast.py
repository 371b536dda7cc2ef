"""Several interviews, and short ways to deal them out in tests."""

import json
from uuid import uuid4

from django.db.models import Q

from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Consent, Sentence
from transcripts.corpus.queries import list_consenting
from transcripts.rounds import actions
from transcripts.rounds.models import Assignment, Completion, Round
from transcripts.rounds.pure import fingerprint

TURNS = [
    {"role": "interviewer", "text": "Does background matter?"},
    {"role": "model", "text": "It depends. Ask the person. It never settles the matter."},
]


def bring_in(study, by, models):
    """An interview for each label, of four sentences, three of them the model's."""
    lines = [
        json.dumps({"id": f"r{number}", "title": f"Talk {number}", "model": label, "turns": TURNS})
        for number, label in enumerate(models, 1)
    ]
    import_file(study=study, name="talks.jsonl", data="\n".join(lines).encode(), by=by)
    return list(study.interviews.filter(external_id__startswith="r").order_by("pk"))


def is_open_for(interview, person):
    """Whether its consent and the rounds let ``person`` code this interview now; her role is another matter.

    An interview that is assigned to nobody is open to all coders, but for what each has completed, unless a round closes what
    lies outside of it. Otherwise she needs an assignment of her own that is not completed, in a round that is not locked,
    and no figures opened after she completed. Tests hold it against the desk’s rule in SQL (coding/closure.py).
    """
    if not list_consenting([interview.pk], Consent.Scope.CODING):
        return False
    completed = Completion.objects.filter(interview=interview, coder=person, withdrawn_at__isnull=True)
    if completed.filter(shown_at__isnull=False).exists():
        return False
    active = Assignment.objects.filter(round__study=interview.study_id, withdrawn_at__isnull=True)
    own = active.filter(interview=interview, coder=person, completed_at__isnull=True, round__locked_at__isnull=True)
    is_dealt_out = active.filter(Q(interview=interview) | Q(round__closes_others=True)).exists()
    return own.exists() if is_dealt_out else not completed.exists()


def answers(interview):
    """What the model says in an interview."""
    rows = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    return list(rows.select_related("turn__interview__study").order_by("position"))


def fields(*coders, **others):
    """What a lead enters for a round: the keywords of ``plan_round``."""
    values = {
        "name": "First pass",
        "instructions": "",
        "overlap_percent": 0,
        "overlap_readers": 2,
        "seed": 1,
        "coder_ids": [coder.pk for coder in coders],
        "models": [],
        "interview_ids": [],
        "drawn": None,
        **others,
    }
    given = {name: values.pop(name) for name in ("coder_ids", "models", "interview_ids", "drawn")}
    return {**given, "planned": Round(**values)}


def open_round(study, by, *coders, idempotency_key=None, **others):
    """Deal the study's interviews out to ``coders`` and open the round."""
    given = fields(*coders, **others)
    _, allocation = actions.plan_round(study=study, **given)
    return actions.open_round(
        study=study,
        **given,
        plan_name=fingerprint(allocation),
        idempotency_key=idempotency_key or uuid4(),
        by=by,
    )


def find_assignment(round_, interview, coder):
    return Assignment.objects.select_related("round", "interview", "coder").get(
        round=round_, interview=interview, coder=coder, withdrawn_at__isnull=True
    )
