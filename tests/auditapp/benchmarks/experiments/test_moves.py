"""Moves in a sample's threads by arm: worked out apart by published programs, and told only when no thread is masked any more."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from scipy.stats import fisher_exact
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from auditapp.benchmarks.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.pure.effects import NoSuchCoder, compare_moves, write_unused
from auditapp.benchmarks.experiments.pure.plans import make_plan
from auditapp.benchmarks.experiments.queries import read_moves
from tests.auditapp.benchmarks.experiments.test_experiments import PLAN
from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.blinding.actions import unblind_interviews, unmask_interviews
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.previews import Choices
from transcripts.negotiation.pure.records import Coding, Decided, Records, Thread, Turn
from transcripts.studies.roles import LEAD

COUNTS = {"move.ask": (27, 12), "move.hedge": (20, 18), "move.revise": (3, 0)}
NAMES = {"move.ask": "Ask", "move.hedge": "Hedge", "move.revise": "Revise", "move.unused": "Unused"}
OF_EACH = 40


def make_records(coder="ana", *, enactment="enacted"):
    """Forty threads of each arm, all read; a move stands in so many of each as ``COUNTS`` says, twice in the first."""
    records, arms = Records(), {}
    for arm, side in (("new", 0), ("old", 1)):
        for number in range(OF_EACH):
            thread = f"{arm}{number}"
            arms[thread] = arm
            records.threads.append(Thread(thread))
            records.turns.append(Turn(thread, 1, "model", "utterance", 1, True))
            records.decided.append(Decided(thread, 1, coder))
            for move, counts in COUNTS.items():
                for time in range((number < counts[side]) + (number == 0 and counts[side] > 0)):
                    records.codings.append(Coding(f"{thread}{move}{time}", thread, 1, time, coder, move, enactment))
    return records, arms


def test_moves_are_compared_by_threads_as_published_programs_do():
    records, arms = make_records()

    found = compare_moves(records, make_plan(PLAN), arms=arms, names=NAMES)

    assert (found["coder"], found["readers"], found["read"]) == ("ana", {"ana": 80}, {"old": 40, "new": 40})
    assert (list(found["effects"]), found["unused"]) == (list(COUNTS), 1)
    p = {move: fisher_exact([[a, 40 - a], [b, 40 - b]]).pvalue for move, (a, b) in COUNTS.items()}
    holm = dict(zip(COUNTS, multipletests(list(p.values()), method="holm")[1], strict=True))
    for move, (a, b) in COUNTS.items():
        effect = found["effects"][move]
        assert (effect["variant"], effect["baseline"]) == ([a, 40], [b, 40])
        assert effect["difference"] == pytest.approx((a - b) / 40)
        interval = confint_proportions_2indep(a, 40, b, 40, method="newcomb")
        assert effect["ci"] == pytest.approx(interval, abs=1e-6)
        assert (effect["p"], effect["p_holm"]) == pytest.approx((p[move], holm[move]))
        assert effect["family"] == len(COUNTS)
    # By hand: 27/40 - 12/40 = .375, Wilson .520 to .799 and .181 to .454, so .375 - sqrt(.155^2 + .154^2) = .156.
    assert found["effects"]["move.ask"]["ci"][0] == pytest.approx(0.156, abs=0.001)


def test_a_thread_that_was_not_read_to_the_end_does_not_count():
    records, arms = make_records()
    records.decided.remove(Decided("new0", 1, "ana"))

    found = compare_moves(records, make_plan(PLAN), arms=arms, names=NAMES)

    assert found["read"] == {"old": 40, "new": 39}
    assert found["effects"]["move.ask"]["variant"] == [26, 39]


def test_a_move_that_is_only_described_does_not_show():
    records, arms = make_records(enactment="described")

    found = compare_moves(records, make_plan(PLAN), arms=arms, names=NAMES)

    assert (found["read"], found["effects"], found["unused"]) == ({"old": 40, "new": 40}, {}, len(NAMES))


def test_moves_that_no_thread_has_do_not_weaken_the_others():
    records, arms = make_records()
    many = NAMES | {f"move.unused{number}": "Unused" for number in range(20)}
    few, more = (compare_moves(records, make_plan(PLAN), arms=arms, names=names) for names in (NAMES, many))
    assert more["effects"] == few["effects"]
    assert write_unused(more) == "21 moves of the codebook in no thread of these arms, left out and not tested."


def test_the_one_who_has_read_most_is_taken_unless_another_is_asked_for():
    records, arms = make_records("zoe")
    records.decided += [Decided("new0", 1, "ana"), Decided("old0", 1, "ana")]

    assert compare_moves(records, make_plan(PLAN), arms=arms, names=NAMES)["coder"] == "zoe"
    hers = compare_moves(records, make_plan(PLAN), arms=arms, names=NAMES, coder="ana")
    assert hers["read"] == {"old": 1, "new": 1}
    with pytest.raises(NoSuchCoder, match="ben has read none of the sample's threads"):
        compare_moves(records, make_plan(PLAN), arms=arms, names=NAMES, coder="ben")


def test_nobody_has_read_anything_yet():
    found = compare_moves(Records(), make_plan(PLAN), arms={}, names=NAMES)

    assert found == {"readers": {}, "coder": "", "read": {"old": 0, "new": 0}, "effects": {}, "unused": 0}


@pytest.fixture
def experiment(study, owner):
    """Two units of each arm, all drawn, their threads brought in masked."""
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=b"unit,arm\nu1,old\nu2,new\nu3,old\nu4,new\n", by=owner)
    draw_audit(experiment=experiment, per_arm=2, seed=1, by=owner)
    lines = [json.dumps({"id": f"u{n}", "turns": [{"role": "model", "text": f"Hello {n}."}]}) for n in (1, 2, 3, 4)]
    import_files(study=study, files=[("logs.jsonl", "\n".join(lines).encode())], by=owner, choices=Choices(mask=True))
    return experiment


def read_all(study, coder):
    """The coder reads every masked thread; those of the units u2 and u4, which are in the new arm, are coded with a move."""
    move = find_code(study, "move.contextualize")
    for interview in study.interviews.masked().select_related("masked_facts"):
        sentence = Sentence.objects.select_related("turn__interview__study").get(turn__interview=interview)
        if interview.masked_facts.external_id in {"u2", "u4"}:
            put(sentence, move, coder)
        decide(sentence, coder)


def unmask(study, owner):
    masked = list(study.interviews.masked())
    unmask_interviews(study=study, interviews=masked, reason="All is read.", by=owner)
    return masked


@pytest.mark.django_db
def test_no_move_is_told_while_a_thread_is_masked(study, experiment, coder, owner, lead, client_of):
    read_all(study, coder)
    found = read_moves(experiment)
    page = client_of(lead).get(reverse("experiments:show", args=[study.slug, experiment.pk])).content.decode()

    assert found == {
        "drawn": 4,
        "found": 4,
        "masked": 4,
        "readers": {},
        "coder": "",
        "read": {},
        "effects": {},
        "unused": 0,
    }
    assert "Moves by arm are shown once" in page
    assert f"as <bdi>{coder.username}</bdi>" not in page

    unmask(study, owner)
    told = read_moves(experiment)
    assert told is not None
    assert (told["coder"], told["read"]) == (coder.username, {"old": 2, "new": 2})
    effect = told["effects"]["move.contextualize"]
    assert (effect["variant"], effect["baseline"], effect["difference"]) == ([2, 2], [0, 2], 1.0)


@pytest.mark.django_db
def test_a_lead_who_codes_sees_the_moves_that_others_found_once_she_has_unblinded_the_threads(
    study, experiment, coder, owner, lead, client_of
):
    read_all(study, coder)
    threads = unmask(study, owner)
    client = client_of(lead)
    address = reverse("experiments:show", args=[study.slug, experiment.pk])

    before = client.get(address).content.decode()
    assert "No moves by arm yet" in before
    assert "Others’ labels in 4 interviews are hidden from you" in before
    seen = read_moves(experiment, viewer=Viewer(study, lead, LEAD))
    assert seen is not None
    assert seen["readers"] == {}

    unblind_interviews(study=study, interviews=threads, by=lead, where="experiment")
    after = client.get(address).content.decode()
    assert f"as <bdi>{coder.username}</bdi> read them" in after
    assert "2 of 2" in after
    file = client.post(reverse("experiments:download", args=[study.slug, experiment.pk, "csv"])).content.decode()
    assert "move: " in file


@pytest.mark.django_db
def test_the_command_names_who_has_read_the_sample(study, experiment, coder, owner):
    read_all(study, coder)
    unmask(study, owner)
    out = StringIO()
    asked = ("experiment", "report", "--study", study.slug, "--experiment", experiment.name)

    call_command(*asked, stdout=out)

    assert f"as {coder.username} read them (2 of old, 2 of new)" in out.getvalue()
    with pytest.raises(CommandError, match="nobody has read none"):
        call_command(*asked, "--coder", "nobody")
