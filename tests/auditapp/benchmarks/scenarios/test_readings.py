"""Which readings of a thread count where a case names a code: adjudicated, agreed, single; and which threads have no outcome."""

from dataclasses import replace
from uuid import uuid4

import pytest
from django.urls import reverse

from auditapp.benchmarks.scenarios.actions.storing import store_sessions
from auditapp.benchmarks.scenarios.pure.outcomes import UnitReading, describe_readings, read_thread
from auditapp.benchmarks.scenarios.queries.runs import read_run_report
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import launch, load_suite, make_script, run
from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.agreement.actions import adjudicate, read_readings
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import fingerprint
from transcripts.agreement.queries import list_families
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unmask_interviews
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.studies.actions import set_method

CODE = "theme.balance"


@pytest.mark.parametrize(
    ("units", "holds", "basis"),
    [
        ([([True], None)], True, "single"),
        ([([False, False], None), ([True, True], None)], True, "agreed"),
        ([([True, False], True)], True, "adjudicated"),
        ([([True, False], False), ([False, False], None)], False, "adjudicated"),
        # A decision that says what all readings say was about another code.
        ([([False, False], False)], False, "agreed"),
        ([([True, False], None)], None, "disputed"),
        ([([True, False], None), ([True], None)], True, "single"),
        ([([False, False], None), ([False], None)], False, "single"),
        ([([False, False], None), ([], None)], None, "unread"),
        ([], None, "unread"),
    ],
)
def test_a_thread_is_read_by_what_its_units_rest_on(units, holds, basis):
    found = read_thread(UnitReading(readings, decided) for readings, decided in units)
    assert (found.holds, found.basis) == (holds, basis)


def test_a_unit_that_nobody_has_to_decide_leaves_nothing_open():
    units = [UnitReading([False]), UnitReading([], is_needed=False)]
    assert read_thread(units) == (False, "single")


@pytest.fixture
def batch(study):
    """Four threads of two cases that name a code, each prompted and not."""
    set_method(study=study, method="codebook", reason="Codes have one reading.", by=trail.SYSTEM)
    load_suite(study, *(replace(make_script(side), case={"answer": {"code": CODE}}) for side in "ab"))
    batch = launch(study, make_variant("qwertzmodel"))
    run(batch)
    store_sessions(batch)
    return batch


@pytest.fixture
def threads(study, batch):
    return list(study.interviews.order_by("pk"))


def read(thread, coder, *, applies):
    """Decide every sentence of a thread, with the code on the first one or without."""
    sentences = list(Sentence.objects.filter(turn__interview=thread, turn__is_answer=True).order_by("pk"))
    if applies:
        put(sentences[0], find_code(thread.owning_study, CODE), coder)
    for sentence in sentences:
        decide(sentence, coder)


def settle(study, thread, coder, *, by):
    """Adjudicate the first sentence for what a coder read there."""
    themes = next(each for each in list_families(study) if each.identifier == "themes")
    sentence = Sentence.objects.filter(turn__interview=thread, turn__is_answer=True).order_by("pk")[0]
    adjudicate(
        study=study,
        family=themes,
        sentence=sentence,
        outcome=Adjudication.Outcome.ONE,
        reason="She is right.",
        chosen_coder=coder.pk,
        shown=fingerprint(read_readings(study, themes, sentence)),
        revision=0,
        idempotency_key=uuid4(),
        by=by,
    )


@pytest.mark.django_db
class TestReport:
    def test_adjudicated_agreed_and_single_readings_give_outcomes_and_disputed_ones_none(
        self, study, batch, threads, coder, second_coder, owner
    ):
        disputed, settled, agreed, single = threads
        for thread, both in ((disputed, (True, False)), (settled, (True, False)), (agreed, (True, True))):
            for person, applies in zip((coder, second_coder), both, strict=True):
                read(thread, person, applies=applies)
        read(single, second_coder, applies=False)
        settle(study, settled, second_coder, by=owner)

        report = read_run_report(batch)
        assert report["readings"] == {"adjudicated": 1, "agreed": 1, "single": 1, "disputed": 1, "unread": 0}
        assert (report["coder"], report["coders"]) == ("", {second_coder.username: 4, coder.username: 3})
        assert (sum(arm["right"] for arm in report["arms"]), report["left_out"]) == (1, 1)
        assert "1 adjudicated, 1 on which two or more coders agree, 1 from only one coder" in describe_readings(report)

    def test_the_readings_of_one_coder_can_be_had_alone(self, study, batch, threads, coder, second_coder, owner):
        for person, applies in ((coder, True), (second_coder, False)):
            read(threads[0], person, applies=applies)
        settle(study, threads[0], second_coder, by=owner)
        for name, right in ((coder.username, 1), (second_coder.username, 0)):
            report = read_run_report(batch, coder=name)
            assert sum(arm["right"] for arm in report["arms"]) == right
            assert f"only from the blind codings of {name}" in describe_readings(report)
        with pytest.raises(Refused, match=f"{coder.username}, {second_coder.username}"):
            read_run_report(batch, coder=owner.username)

    def test_a_code_that_the_codebook_lacks_is_named(self, study):
        load_suite(study, *(replace(make_script(side), case={"answer": {"code": "theme.nowhere"}}) for side in "ab"))
        batch = launch(study, make_variant("qwertzmodel"), conditions={})
        run(batch)
        store_sessions(batch)
        report = read_run_report(batch)
        assert (report["unknown_codes"], report["readings"]["unread"]) == (["theme.nowhere"], 2)

    def test_the_page_says_which_readings_count_and_lets_one_choose(
        self, study, batch, threads, coder, reader, owner, client_of
    ):
        read(threads[0], coder, applies=True)
        unmask_interviews(study=study, interviews=threads, reason="The rounds are done.", by=owner)
        address = reverse("scenarios:run", args=[study.slug, batch.pk])
        page = client_of(reader).get(address).content.decode()
        assert "Which readings count" in page
        assert "0 adjudicated, 0 on which two or more coders agree, 1 from only one coder" in page
        assert f"{coder.username} alone (1 thread" in page
        alone = client_of(reader).get(address, {"coder": coder.username}).content.decode()
        assert f"only from the blind codings of {coder.username}" in alone
