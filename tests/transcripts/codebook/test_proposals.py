"""Codes that people find missing: stored once, answered once, and seen by nobody they are not for."""

from uuid import UUID, uuid4

import pytest

from tests.transcripts.codebook.cast import edit, list_events
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook import actions, queries
from transcripts.codebook.models import CodeExample, CodeProposal
from transcripts.refusals import Refused


def propose(study, by, name="Missing", **more):
    given = {"family_identifier": "themes", "idempotency_key": uuid4(), **more}
    return actions.propose_code(study=study, name=name, by=by, **given)


def test_proposal_that_is_sent_twice_is_stored_once(study, coder, second_coder):
    idempotency_key = UUID(int=7)
    first = propose(study, coder, idempotency_key=idempotency_key)
    events = list_events(study)
    assert propose(study, coder, " Missing ", idempotency_key=idempotency_key) == first
    assert list_events(study) == events
    with pytest.raises(Refused, match="already sent with other content"):
        propose(study, coder, "Another", idempotency_key=idempotency_key)
    propose(study, second_coder, "Another", idempotency_key=idempotency_key)
    assert CodeProposal.objects.count() == 2


def test_name_in_the_words_of_the_sentence_is_in_vivo(study, coder, sentence):
    assert propose(study, coder, "ask first", sentence=sentence).is_in_vivo
    assert not propose(study, coder, "asking", sentence=sentence).is_in_vivo
    assert not propose(study, coder, "ask first").is_in_vivo


@pytest.mark.parametrize(
    ("more", "field", "found"),
    [
        ({"name": " "}, "name", "needs a name"),
        ({"name": "x" * 201}, "name", "this one has 201"),
        ({"definition": "x" * 20_001}, "definition", "this one has 20,001"),
        ({"family_identifier": "nothing"}, "family", "Choose one of the families"),
    ],
)
def test_proposal_that_says_too_little_or_too_much_is_refused(study, coder, more, field, found):
    with pytest.raises(actions.WrongInput, match=found) as refused:
        propose(study, coder, **more)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert not CodeProposal.objects.exists()


def test_audit_of_proposals_holds_no_words(study, coder, lead, sentence):
    proposal = propose(study, coder, "ask first", sentence=sentence)
    actions.decline_proposal(proposal=proposal, by=lead, answer="We have it as elicitation.")
    told = str(list(AuditEvent.objects.filter(action__startswith="codebook.proposal").values("details", "target")))
    assert "ask first" not in told
    assert "elicitation" not in told


def test_accepted_proposal_is_a_code_of_the_open_draft(study, draft, coder, lead):
    proposal = propose(study, coder, definition="What it is.")
    assert actions.accept_proposal(proposal=proposal, by=lead, answer="Good.") == draft
    proposal.refresh_from_db()
    assert proposal.code is not None
    assert (proposal.state, proposal.answer, proposal.answered_by) == ("accepted", "Good.", lead)
    assert (proposal.code.identifier, proposal.code.definition) == ("theme.missing", "What it is.")
    assert coder.username not in proposal.code.source


def test_accepting_begins_a_draft_where_there_is_none(study, coder, lead):
    version = actions.accept_proposal(proposal=propose(study, coder), by=lead)
    assert version == queries.find_open_draft(study)
    assert version.codes.count() == 43


def test_accepted_proposal_can_be_used_at_once(study, published, coder, lead):
    version = actions.accept_proposal(proposal=propose(study, coder), by=lead, publish=True)
    assert version == queries.current_version(study)
    meanings = dict(version.codes.values_list("identifier", "meaning_version"))
    assert meanings.pop("theme.missing") == 2
    assert set(meanings.values()) == {1}


def test_nothing_is_published_with_it_that_somebody_else_is_writing(study, draft, coder, lead):
    edit(draft, "theme.balance", lead, name="Half done")
    proposal = propose(study, coder)
    with pytest.raises(Refused, match="v2 is a draft with other changes"):
        actions.accept_proposal(proposal=proposal, by=lead, publish=True)
    proposal.refresh_from_db()
    assert proposal.state == "open"
    assert queries.current_version(study) != draft


def test_proposal_is_answered_once(study, coder, lead, owner):
    proposal = propose(study, coder)
    actions.decline_proposal(proposal=proposal, by=lead, answer="No.")
    with pytest.raises(Refused, match="declined by another person in the meantime"):
        actions.accept_proposal(proposal=proposal, by=owner)
    with pytest.raises(Refused, match="declined"):
        actions.decline_proposal(proposal=proposal, by=owner, answer="Never.")


def test_declining_needs_a_reason(study, coder, lead):
    proposal = propose(study, coder)
    with pytest.raises(actions.WrongInput, match="Say why"):
        actions.decline_proposal(proposal=proposal, by=lead, answer=" ")
    proposal.refresh_from_db()
    assert proposal.state == "open"


def test_lead_uses_her_own_code_at_once_and_only_once(study, lead):
    given = {"study": study, "name": "Mine", "family_identifier": "themes", "idempotency_key": uuid4(), "by": lead}
    first = actions.use_at_once(**given)
    second = actions.use_at_once(**given)
    assert first == second
    assert first.code is not None
    assert first.code.version == queries.current_version(study)
    assert study.codebook_versions.count() == 2


def test_family_that_is_gone_is_said(study, draft, coder, lead):
    proposal = propose(study, coder, family_identifier="failure_modes")
    CodeExample.objects.filter(code__family__version=draft, code__family__identifier="failure_modes").delete()
    draft.codes.filter(family__identifier="failure_modes").delete()
    draft.families.filter(identifier="failure_modes").delete()
    with pytest.raises(actions.WrongInput, match="failure_modes is no longer in v2"):
        actions.accept_proposal(proposal=proposal, by=lead)


def test_coder_has_her_own_proposals_only(study, coder, second_coder):
    mine, _ = propose(study, coder), propose(study, second_coder)
    assert list(queries.list_proposals(study, only=coder)) == [mine]
    assert queries.list_proposals(study).count() == 2
