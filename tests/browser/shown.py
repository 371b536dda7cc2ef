"""What the pages show in the tests that look at every page: made once, in one process, beside the demo study.

The demo study gets what people and offline annotators do there; a study of its own, ``trust``, is one whose lead has opened
what others coded, so that calibration, disagreements, rates and audits have figures. Draws are seeded.
"""

import json
import uuid
from io import StringIO
from itertools import islice

from django.core.management import call_command
from django.utils import timezone

from auditapp.annotators.actions.annotators import add_built_in_control_sentences, ensure_annotator
from auditapp.annotators.actions.launching import launch_offline, launch_preannotation
from auditapp.annotators.models import OfflineRun, Suggestion, TurnArm
from auditapp.annotators.offline import run_offline
from auditapp.annotators.withholding import (
    close_draft_interview,
    ensure_arms,
    open_draft_interview,
    set_withholding,
)
from auditapp.audits.actions import open_results
from auditapp.batches.models import Batch
from auditapp.batches.routes import live_run
from auditapp.benchmarks.sob.judging.actions import draw_audit, launch_formatter, mark_item
from auditapp.benchmarks.sob.judging.launching import add_wording
from auditapp.benchmarks.sob.models import AuditItem, Dataset
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.queries import find_rows
from auditapp.benchmarks.sob.texts.actions.derived import sample_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping, save_targets
from auditapp.evaluation.actions import choose_annotator, draw_positive_audit, mark_positive, sort_disagreement
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from auditapp.suggestions.actions import accept_suggestion, reject_suggestion, show_suggestions
from auditapp.webhooks.actions import add_webhook
from auditapp.webhooks.models import Delivery
from tests.auditapp.annotators.cast import add_interviews_to_teach, code_blind
from tests.auditapp.evaluation.cast import BALANCE, COMPASSION, decide_all, judge, read
from transcripts.accounts.actions import create_user
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interviews
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.actions import set_member_role, set_method
from transcripts.studies.models import Study

READER, OTHER_READER = "fake reader (invented)", "second fake reader with reasoning on (invented)"
ASKED_AGAIN = "fake reader that is asked again (invented)"
SAID = (
    "Some families weigh what elders say and what a child wants, and I would hold both.",
    "I would ask her first what she has tried, and what the teacher said about it.",
    "That is a tendency in what I was trained on, and not a fact about anybody in particular.",
)
TALKS, TURNS = 3, 44


def fill():
    """All of it."""
    owner, coder = User.objects.get(username="owner"), User.objects.get(username="demo-coder")
    demo = Study.objects.get(slug="demo")
    # Batch 3.
    call_command(
        "annotator",
        "check",
        *("--study", "demo", "--annotator", READER, "--family", "themes", "--sample", "10", "--wait"),
        stdout=StringIO(),
    )
    read_offline(demo, owner, coder)
    audit_and_change_the_benchmark(demo, owner, coder)
    send_to_a_webhook(demo, owner)
    trust = begin_trust(owner, coder)
    read_and_judge(trust, owner, coder)
    ask_again(trust, owner)


def read_offline(demo, owner, coder):
    """Runs 1 to 4: read by rules, learnt and read, failed, and not begun."""
    run_offline(launch_offline(study=demo, kind="rules", by=owner).pk)
    code_blind(demo, coder, add_interviews_to_teach(demo, owner))
    run_offline(launch_offline(study=demo, kind="learnt", by=owner).pk)
    for state, problem in (
        ("failed", "The codings this annotator learnt from have changed, so it cannot be made again."),
        ("planned", ""),
    ):
        run = OfflineRun.objects.get(pk=2)
        run.pk, run.idempotency_key, run.state, run.problem = None, None, state, problem
        run.ended_at = timezone.now() if problem else None
        run.save()
        run.interviews.set(OfflineRun.objects.get(pk=2).interviews.all())


def audit_and_change_the_benchmark(demo, owner, coder):
    """Batch 2: audit 1 is all marked by two, audit 2 not begun; a formatter has read (batch 4); tables of the study's own."""
    batch = Batch.objects.get(pk=2)
    first = draw_audit(batch=batch, scope="answers", size=5, seed=1, by=owner)
    draw_audit(batch=batch, scope="answers", size=4, seed=2, by=owner)
    for item in AuditItem.objects.filter(audit=first).select_related("audit__batch").order_by("position"):
        is_same = item.position % 3
        found = {"outcome": Outcome.UNKNOWN, "note": "Says nothing."}
        if is_same:
            found = {"outcome": item.outcome, "n_attributes": item.n_attributes}
        for reader in (owner, coder):
            mark_item(item=item, number=1, idempotency_key=uuid.uuid4(), by=reader, **found)
    formatter = add_model(label="fake formatter (invented)", provider="fake", by=owner)
    reading = launch_formatter(batch=batch, variant=formatter, outcomes=["off_format", "refusal"], by=owner)
    for queue in reading.queues.all():
        live_run.run_queue(queue.pk)
    rows = {target: dict(lists) for target, lists in find_rows(demo).items()}
    rows["women"] = {**rows["women"], "self": [*rows["women"]["self"], "a woman of our own study"]}
    save_mapping(study=demo, rows=rows, reason="What the answers of this study say of women.", by=owner)
    targets = [{"raw": "wom", "target": "women"}, {"raw": "bla, wom", "target": "black", "secondary": "women"}]
    save_targets(study=demo, rows=targets, reason="As the sources of this study label them.", by=owner)
    add_wording(study=demo, name="two-names", based_on="paper", characteristics=["Age", "Gender"], by=owner)
    sample_dataset(dataset=Dataset.objects.get(pk=1), name="A sample of the invented texts", size=4, by=owner)


def send_to_a_webhook(demo, owner):
    """Webhook 1: a delivery was received, one is tried again, and one was given up."""
    address = f"https://hooks.example.org/{'a-long-path/' * 12}"
    webhook, _ = add_webhook(study=demo, address=address, events=["batch.ended", "round.completed"], by=owner)
    now = timezone.now()
    for ended, shown in (
        (now, {"state": "delivered", "tries": 1, "status": 204}),
        (None, {"state": "waiting", "tries": 3, "error": "No connection to hooks.example.org:443: it took too long."}),
        (now, {"state": "given_up", "tries": 10, "status": 500, "answer": "Something is wrong with this receiver."}),
    ):
        Delivery.objects.create(
            webhook=webhook, event="batch.ended", body="{}", created_at=now, due_at=now, ended_at=ended, **shown
        )


def begin_trust(owner, coder):
    """Interviews of answers of three sentences; half of the turns are withheld."""
    trust = start_study(slug="trust", name="Trust in machines (invented)", by=owner)
    set_member_role(study=trust, user=coder, role="coder", by=owner)
    set_method(study=trust, method="codebook", reason="So that figures are shown.", by=owner)
    set_withholding(study=trust, share_percent=50, reason="Half, so that rates rest on enough.", by=owner, seed=1)
    lines = [
        json.dumps(
            {
                "id": f"talk-{number}",
                "title": f"Talk {number} with a model about schools, families and what is fair",
                "model": "Model A",
                "turns": [
                    {"role": "interviewer", "text": "And then?"},
                    {"role": "model", "text": " ".join(SAID)},
                ]
                * TURNS,
            }
        )
        for number in range(1, TALKS + 1)
    ]
    import_file(study=trust, name="talks.jsonl", data="\n".join(lines).encode(), by=owner)
    return trust


def read_and_judge(trust, owner, coder):
    """Two annotators read; two people decide blind, look, and are then opened to the lead, who chooses, sorts and audits."""
    second = create_user(username="second-demo-coder", by=trail.SYSTEM)
    set_member_role(study=trust, user=second, role="coder", by=owner)
    ensure_arms(study=trust, interviews=None, by=owner)
    said = list(
        Sentence.objects.filter(turn__interview__study=trust, turn__role="model")
        .select_related("turn__interview")
        .order_by("turn__interview", "position")
    )
    weighing, asking, hedging = said[::3], said[1::3], said[2::3]
    reader = add_reader(trust, READER, owner)
    other = add_reader(trust, OTHER_READER, owner)
    labels = {each.pk: [BALANCE] for each in [*weighing, *hedging[::4]]} | {
        each.pk: [COMPASSION] for each in asking[::3]
    }
    suggestions = read(reader, said, labels)
    read(other, said, {each.pk: [BALANCE] for each in [*weighing[::2], *asking[::5]]})
    decide_all(coder, said, {each.pk: [BALANCE] for each in [*weighing[::2], *hedging[::6]]})
    decide_all(second, said, {each.pk: [BALANCE] for each in [*weighing[1::2], *weighing[::3]]})
    for person, sentences in ((coder, weighing[1::2]), (second, weighing[::2])):
        look_again(trust, person, sentences)
    interviews = list(Interview.objects.filter(study=trust).order_by("pk"))
    unblind_interviews(study=trust, interviews=interviews, by=owner, where="calibration")
    choose_annotator(
        study=trust, code_identifier=BALANCE, annotator=reader, reason="It agrees most with both readers.", by=owner
    )
    choose_annotator(study=trust, code_identifier=COMPASSION, annotator=None, reason="Nobody put it.", by=owner)
    shown = set(TurnArm.objects.filter(plan__study=trust, arm="shown").values_list("turn", flat=True))
    for sentence in islice((each for each in hedging[::4] if each.turn_id in shown), 2):
        sort_disagreement(
            study=trust,
            annotator=reader,
            sentence=sentence,
            code_identifier=BALANCE,
            category="definition",
            note="The definition does not say whether a hedge is a balance.",
            by=owner,
        )
    judged = [each for each in suggestions if Sentence.objects.get(pk=each.sentence_id).turn_id in shown][:9]
    judge(reader, {each: "reverse" if place % 3 else "uphold" for place, each in enumerate(judged)})
    audit_positives(reader, owner)
    drafted = open_draft_interview(study=trust, interview=interviews[0], reason="To train a new coder.", by=owner)
    close_draft_interview(study=trust, draft=drafted, by=owner)
    open_draft_interview(study=trust, interview=interviews[1], reason="Its codes are settled.", by=owner)


def add_reader(trust, label, owner):
    if not ModelVariant.objects.filter(label=label).exists():
        add_model(label=label, provider="fake", model=label, by=owner)
    return ensure_annotator(study=trust, name=label, by=owner)


def look_again(trust, person, sentences):
    """The person opens what machines say of some sentences, keeps one of it and leaves the next."""
    for place, sentence in enumerate(sentences[:36]):
        showing = show_suggestions(study=trust, sentence=sentence, by=person).showing
        for suggestion in Suggestion.objects.filter(pk__in=showing.suggestions[:1] if showing else []):
            if place % 2:
                accept_suggestion(suggestion=suggestion, study=trust, by=person)
            else:
                reject_suggestion(suggestion=suggestion, study=trust, by=person, reason="It asks, it weighs nothing.")


def audit_positives(reader, owner):
    """Audit 1 is marked whole and its results are open; of audit 2 one of its suggestions is marked."""
    first = draw_positive_audit(annotator=reader, seed=1, per_code=4, by=owner)
    second = draw_positive_audit(annotator=reader, seed=2, per_code=2, by=owner)
    verdicts = ("applies", "applies", "does_not", "unclear")
    for audit, most in ((first, None), (second, 1)):
        for place, item in enumerate(islice(audit.items.order_by("position"), most)):
            mark_positive(
                item=item, number=1, verdict=verdicts[place % 4], note="", by=owner, idempotency_key=uuid.uuid4()
            )
    open_results(audit=first, by=owner)


def ask_again(trust, owner):
    """The fake provider reads all of the talks, a part of them a second time with control sentences."""
    add_built_in_control_sentences(study=trust, by=owner)
    reader = add_reader(trust, ASKED_AGAIN, owner)
    batch = launch_preannotation(study=trust, annotator=reader, families=["themes"], by=owner)
    for queue in batch.queues.all():
        live_run.run_queue(queue.pk)
