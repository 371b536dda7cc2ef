"""What is known of an interview can be corrected, and every correction keeps the old value."""

import pytest
from django.urls import reverse

from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.changes import archive_interviews, edit_details, restore_interviews
from transcripts.corpus.models import InterviewChange, Turn
from transcripts.refusals import Refused


def edit(study, interview, by, **values):
    return edit_details(study=study, interview=interview, values=values, kinds={}, reason="A slip.", by=by)


def test_a_correction_is_stored_with_who_when_before_and_after(study, interview, owner):
    edit(study, interview, owner, title=" Better title ", model_label="Model A")
    interview.refresh_from_db()
    assert interview.title == "Better title"
    change = InterviewChange.objects.get()
    assert (change.field, change.old, change.new) == ("title", "First interview", "Better title")
    assert (change.changed_by, change.reason) == (owner, "A slip.")
    event = AuditEvent.objects.get(action="corpus.interview.edited")
    assert event.details["fields"] == ["title"]
    assert "Better" not in str(event.details)


def test_the_kind_of_a_prompt_is_corrected_and_an_answer_has_none(study, interview, owner):
    asked, said = (interview.turns.filter(role=role)[0] for role in ("interviewer", "model"))
    kinds = {asked.pk: "leading", said.pk: "leading"}
    edit_details(study=study, interview=interview, values={}, kinds=kinds, reason="", by=owner)
    assert list(Turn.objects.filter(prompt_kind="leading")) == [asked]
    assert InterviewChange.objects.get().turn == asked


def test_inclusion_says_whether_an_interview_counts(study, interview, owner):
    edit(study, interview, owner, inclusion="Excluded", inclusion_reason="Too short.")
    assert not study.interviews.exists()
    assert InterviewChange.objects.get(field="standing").reason == "Too short."
    edit(study, interview, owner, inclusion="included")
    assert study.interviews.get() == interview


def test_an_archived_interview_stays_archived_and_is_excluded_when_it_is_restored(study, interview, owner):
    archive_interviews(study=study, interviews=[interview], reason="x", by=owner)
    edit(study, interview, owner, inclusion="excluded")
    interview.refresh_from_db()
    assert interview.standing == "archived"
    restore_interviews(study=study, interviews=[interview], by=owner)
    interview.refresh_from_db()
    assert interview.standing == "excluded"


def test_nothing_is_stored_where_nothing_differs_or_something_is_wrong(study, interview, owner):
    assert edit(study, interview, owner, title="First interview") == []
    with pytest.raises(Refused, match="needs a title"):
        edit(study, interview, owner, title=" ")
    with pytest.raises(Refused, match="the limit is 50"):
        edit(study, interview, owner, tier="x" * 51)
    assert not InterviewChange.objects.exists()


def test_the_page_corrects_shows_the_history_and_lets_a_coder_only_read(study, interview, lead, coder, client_of):
    path = reverse("corpus:details", args=[study.slug, interview.pk])
    form = {"title": "Better title", "model_label": "Model A", "inclusion": "excluded", "reason": "A slip."}
    assert client_of(lead).post(path, form).status_code == 422, "nobody knows what it was made from"
    form["seen"] = client_of(lead).get(path).context["form"].initial["seen"]
    page = client_of(lead).post(path, form, follow=True).content.decode()
    assert "Saved." in page
    assert "First interview" in page
    assert "A slip." in page
    assert client_of(coder).post(path, form).status_code == 403
    shown = client_of(coder).get(path).content.decode()
    assert "Better title" in shown
    assert '<button class="button primary">Save' not in shown
