"""The pages on which one looks again, as somebody in a browser without JavaScript meets them."""

import re

from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import decide, find_code, put, standing_codes
from tests.transcripts.revision.codebooks import code_of, merge, narrow, split
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.revision import actions
from transcripts.revision.models import AnchorReading
from transcripts.rounds.models import Assignment, Round


def test_queue_leads_from_coding_to_coding_until_none_is_left(study, sentence, code, owner, coder, client_of):
    following = Sentence.objects.select_related("turn").get(turn=sentence.turn, position=sentence.position + 1)
    first, second = put(sentence, code, coder), put(following, code, coder)
    narrow(study, code.identifier, owner)
    browser = client_of(coder)
    queue = reverse("revision:queue", args=[study.slug])
    assert "2 codings" in browser.get(queue).content.decode()
    page = browser.get(queue, {"code": code.identifier}, follow=True)
    shown = page.content.decode()
    assert "too wide" in shown
    assert "<ins>" in shown
    assert page.redirect_chain[-1][0] == reverse("revision:re_review", args=[study.slug, first.pk])
    after = browser.post(page.redirect_chain[-1][0], {"outcome": "keep"})
    assert after["Location"] == reverse("revision:re_review", args=[study.slug, second.pk])
    assert browser.post(after["Location"], {"outcome": "drop"})["Location"] == queue
    assert "Nothing to re-review" in browser.get(queue).content.decode()
    assert standing_codes(sentence, coder) == [code.identifier]
    assert standing_codes(following, coder) == []


def test_sent_twice_is_done_once_and_wrong_input_is_told(study, sentence, code, owner, coder, client_of):
    coding = put(sentence, code, coder)
    split(study, code.identifier, ["Weighing harms", "Weighing values"], owner)
    browser, look = client_of(coder), reverse("revision:re_review", args=[study.slug, coding.pk])
    answer = browser.post(look, {"outcome": "move"})
    assert answer.status_code == 422
    assert "Choose at least one code" in answer.content.decode()
    assert browser.post(look, {}).status_code == 422
    names = browser.get(look).context["look"]["targets"]
    for _ in range(2):
        assert browser.post(look, {"outcome": "move", "codes": [names[0].identifier]}).status_code == 302
    assert standing_codes(sentence, coder) == [names[0].identifier]
    assert Coding.objects.filter(coder=coder).count() == 2


def test_coder_counts_her_own_and_a_lead_counts_all(study, sentence, code, owner, coder, second_coder, client_of):
    for person in (coder, second_coder):
        put(sentence, code_of(code.version, "theme.compassion"), person)
    version = merge(study, ["theme.compassion", code.identifier], code.identifier, owner)
    effects = reverse("revision:effects", args=[study.slug, 1, version.number])
    assert client_of(coder).get(effects).context["effects"]["codings"] == 1
    page = client_of(owner).get(effects)
    assert page.context["effects"]["codings"] == 2
    assert page.context["effects"]["to_migrate"] == 2
    client_of(owner).post(reverse("revision:migrate", args=[study.slug, version.number]))
    assert standing_codes(sentence, coder) == [code.identifier]
    client_of(owner).post(reverse("revision:undo_migration", args=[study.slug, version.number]))
    assert standing_codes(sentence, coder) == ["theme.compassion"]


def test_anchors_are_read_one_by_one_and_the_drift_is_one_s_own(study, sentence, owner, coder, second_coder, client_of):
    actions.add_anchor(study=study, sentence=sentence, by=owner)
    anchors, read = (reverse(f"revision:{name}", args=[study.slug]) for name in ("anchors", "read"))
    browser = client_of(coder)
    assert "Code 1 anchor with" in browser.get(anchors).content.decode()
    anchor = browser.get(read).context["anchor"].pk
    assert browser.post(read, {"anchor": anchor}).status_code == 422
    both = browser.post(read, {"anchor": anchor, "codes": ["theme.balance"], "none_applies": "on"})
    assert re.search('name="none_applies"[^>]* checked', both.content.decode()), "what was ticked stays ticked"
    assert both.status_code == 422
    assert not AnchorReading.objects.exists()
    assert browser.post(read, {"anchor": anchor, "codes": ["theme.balance"]}).status_code == 302
    assert "1 of 1" in browser.get(anchors).content.decode()
    assert "Drift" not in client_of(second_coder).get(anchors).content.decode().partition("<h2")[2]


def test_signed_off_interviews_are_told_apart_and_not_offered(study, sentence, code, owner, coder, client_of):
    coding = put(sentence, code, coder)
    version = narrow(study, code.identifier, owner)
    browser, work = client_of(coder), reverse("rounds:work", args=[study.slug])
    assert "1 of your codings needs" in browser.get(work).content.decode()
    now = timezone.now()
    dealt = Round.objects.create(study=study, number=1, name="One", opened_at=now, opened_by_name="lead")
    given = Assignment.objects.create(
        round=dealt,
        interview=sentence.turn.interview,
        coder=coder,
        assigned_at=now,
        assigned_by_name="lead",
        completed_at=now,
    )
    queue, look = (
        reverse("revision:queue", args=[study.slug]),
        reverse("revision:re_review", args=[study.slug, coding.pk]),
    )
    page = browser.get(queue, {"code": code.identifier})
    assert page.status_code == 200
    assert page.context["codes"] == []
    assert "In interviews you have completed" in page.content.decode()
    shown = browser.get(look).content.decode()
    assert "A lead of the study can return it to you" in shown.replace("&#x27;", "'").replace("\n", " ")
    assert 'name="outcome"' not in shown
    assert "for re-review" not in browser.get(work).content.decode()
    effects = client_of(owner).get(reverse("revision:effects", args=[study.slug, 1, version.number]))
    assert (effects.context["effects"]["due"], effects.context["effects"]["closed"]) == (1, 1)
    assert "1 of those 1 is in interviews" in effects.content.decode()
    Assignment.objects.filter(pk=given.pk).update(completed_at=None)
    Round.objects.filter(pk=dealt.pk).update(locked_at=now, locked_by=owner)
    assert "In rounds that are locked" in browser.get(queue).content.decode()


def test_button_says_what_taking_off_the_last_code_comes_to(study, sentence, code, owner, coder, client_of):
    coding = put(sentence, code, coder)
    narrow(study, code.identifier, owner)
    browser, look = client_of(coder), reverse("revision:re_review", args=[study.slug, coding.pk])
    assert "Remove it</button>" in browser.get(look).content.decode()
    decide(sentence, coder)
    assert "Remove it; none applies</button>" in browser.get(look).content.decode()


def test_a_move_that_states_no_enactment_is_kept_only_with_one(study, sentence, owner, coder, client_of):
    coding = put(sentence, find_code(study, "move.revise"), coder)
    Coding.objects.update(enactment="")
    narrow(study, "move.revise", owner)
    browser, look = client_of(coder), reverse("revision:re_review", args=[study.slug, coding.pk])
    assert "enactment not stated" in browser.get(look).content.decode()
    refused = browser.post(look, {"outcome": "keep"})
    assert refused.status_code == 422
    assert "Revise needs its enactment. Choose enacted, demonstrated or described." in refused.content.decode()
    browser.post(look, {"outcome": "keep", "enactment": "described"})
    assert Coding.objects.get(withdrawn_at__isnull=True).enactment == "described"
