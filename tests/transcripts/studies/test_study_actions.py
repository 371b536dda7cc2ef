import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.actions import create_user, set_password, use_sign_in_link
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study, invite_person, remove_member, renew_invitation, set_member_role
from transcripts.studies.models import Membership, Study
from transcripts.studies.roles import ROLES


def last_event(study):
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).latest("sequence")


def role_of(user, study):
    membership = Membership.objects.filter(user=user, study=study).first()
    return membership.role if membership else None


def test_whoever_makes_a_study_owns_it(owner):
    study = create_study(slug="second", name=" Second ", by=owner)
    assert study.name == "Second"
    assert role_of(owner, study) == "owner"
    events = AuditEvent.objects.filter(stream=f"study:{study.pk}").order_by("sequence")
    assert list(events.values_list("sequence", "action")) == [
        (1, "study.created"),
        (2, "study.member.role_set"),
    ]


def test_study_made_by_the_program_has_no_members(db):
    assert not create_study(slug="demo", name="Demo", by=trail.SYSTEM).memberships.exists()


@pytest.mark.parametrize(
    ("slug", "name", "reason"),
    [
        ("fine", " ", "needs a name"),
        ("fine", "x" * 201, "up to 200 characters"),
        ("", "Fine", "cannot be used in an address"),
        ("Two Words", "Fine", "cannot be used in an address"),
        ("a/b", "Fine", "cannot be used in an address"),
        ("x" * 61, "Fine", "cannot be used in an address"),
        ("culture", "Fine", "already a study with the address culture"),
    ],
)
def test_study_that_cannot_be_made_is_refused_with_a_reason(study, owner, slug, name, reason):
    with pytest.raises(Refused, match=reason):
        create_study(slug=slug, name=name, by=owner)
    assert Study.objects.count() == 1


def test_giving_a_role_leaves_an_event_with_before_and_after(study, owner, coder):
    set_member_role(study=study, user=coder, role="lead", by=owner)
    assert role_of(coder, study) == "lead"
    event = last_event(study)
    assert (event.action, event.actor_name) == ("study.member.role_set", "owner")
    assert event.details == {"username": "coder", "before": "coder", "after": "lead"}


def test_giving_the_same_role_again_changes_nothing(study, owner, coder):
    before = last_event(study).sequence
    set_member_role(study=study, user=coder, role="coder", by=owner)
    assert last_event(study).sequence == before


def test_unknown_role_is_refused(study, owner, outsider):
    with pytest.raises(Refused, match="owner, lead, coder, reader"):
        set_member_role(study=study, user=outsider, role="admin", by=owner)
    assert role_of(outsider, study) is None


@pytest.mark.parametrize("actor", ["lead", "coder", "reader", "outsider"])
@pytest.mark.parametrize("role", [*ROLES])
def test_nobody_but_an_owner_gives_any_role_even_to_herself(request, study, second_coder, actor, role):
    by = request.getfixturevalue(actor)
    before = role_of(by, study)
    for user in (second_coder, by):
        with pytest.raises(PermissionDenied):
            set_member_role(study=study, user=user, role=role, by=by)
    with pytest.raises(PermissionDenied):
        remove_member(study=study, user=second_coder, by=by)
    with pytest.raises(PermissionDenied):
        invite_person(study=study, username="ada", role=role, by=by)
    assert role_of(second_coder, study) == "coder"
    assert role_of(by, study) == before
    assert not User.objects.filter(username="ada").exists()


def test_owner_of_one_study_gives_no_role_in_another(study, outsider, coder):
    create_study(slug="other", name="Other", by=outsider)
    with pytest.raises(PermissionDenied):
        set_member_role(study=study, user=outsider, role="owner", by=outsider)


def test_owner_of_the_site_may_give_roles_in_every_study(study, outsider, coder):
    outsider.is_superuser = True
    outsider.save()
    set_member_role(study=study, user=coder, role="reader", by=outsider)
    assert role_of(coder, study) == "reader"


def test_last_owner_stays(study, owner):
    with pytest.raises(Refused, match="needs an owner"):
        set_member_role(study=study, user=owner, role="lead", by=owner)
    with pytest.raises(Refused, match="needs an owner"):
        remove_member(study=study, user=owner, by=owner)
    assert role_of(owner, study) == "owner"


def test_owner_may_leave_once_there_is_another(study, owner, lead):
    set_member_role(study=study, user=lead, role="owner", by=owner)
    remove_member(study=study, user=owner, by=owner)
    assert role_of(owner, study) is None
    event = last_event(study)
    assert (event.action, event.details) == ("study.member.removed", {"username": "owner", "before": "owner"})


def test_removing_a_stranger_is_refused(study, owner, outsider):
    with pytest.raises(Refused, match="not a member"):
        remove_member(study=study, user=outsider, by=owner)


def test_invited_person_gets_account_role_and_a_link(study, owner):
    user, secret = invite_person(study=study, username="ada", role="coder", by=owner)
    assert role_of(user, study) == "coder"
    assert not user.is_superuser
    assert use_sign_in_link(secret=secret) == user


def test_invitation_to_a_taken_name_leaves_nothing_behind(study, owner, outsider):
    with pytest.raises(Refused, match="already a user"):
        invite_person(study=study, username="outsider", role="coder", by=owner)
    assert role_of(outsider, study) is None


def test_invitation_with_an_unknown_role_leaves_nothing_behind(study, owner):
    with pytest.raises(Refused, match="no role"):
        invite_person(study=study, username="ada", role="admin", by=owner)
    assert not User.objects.filter(username="ada").exists()


def test_no_owner_of_a_study_makes_an_owner_of_the_site(study, owner):
    with pytest.raises(PermissionDenied):
        invite_person(study=study, username="ada", role="coder", by=owner, is_owner_of_site=True)
    assert not User.objects.filter(username="ada").exists()


class TestSecondLink:
    """A link is its person, so a second one is made only for a newcomer nobody else knows."""

    @pytest.fixture
    def invited(self, study, owner):
        return invite_person(study=study, username="ada", role="coder", by=owner)[0]

    def test_newcomer_who_never_came_gets_one(self, study, owner, invited):
        secret = renew_invitation(study=study, user=invited, by=owner)
        assert use_sign_in_link(secret=secret) == invited

    def test_nobody_gets_one_who_signed_in_before(self, study, owner, invited):
        invited.last_login = timezone.now()
        invited.save()
        with pytest.raises(Refused, match=r"manage\.py user sign-in ada"):
            renew_invitation(study=study, user=invited, by=owner)

    def test_nobody_gets_one_who_has_a_password(self, study, owner, invited):
        set_password(user=invited, password="four words picked by nobody", by=invited)
        with pytest.raises(Refused, match="Only the administrator of this site"):
            renew_invitation(study=study, user=invited, by=owner)

    def test_nobody_gets_one_who_had_an_account_before(self, study, owner):
        grace = create_user(username="grace", by=trail.SYSTEM)
        set_member_role(study=study, user=grace, role="coder", by=trail.SYSTEM)
        with pytest.raises(Refused, match="not invited to this study as a new person"):
            renew_invitation(study=study, user=grace, by=owner)

    def test_nobody_gets_one_who_belongs_to_a_study_of_others(self, study, owner, outsider, invited):
        other = create_study(slug="other", name="Other", by=outsider)
        set_member_role(study=other, user=invited, role="lead", by=trail.SYSTEM)
        for inviting, by in ((study, owner), (other, outsider)):
            with pytest.raises(Refused, match="another study"):
                renew_invitation(study=inviting, user=invited, by=by)

    def test_no_owner_of_the_site_gets_one(self, study, owner, invited):
        invited.is_superuser = True
        invited.save()
        with pytest.raises(Refused):
            renew_invitation(study=study, user=invited, by=owner)

    def test_no_stranger_gets_one(self, study, owner, outsider):
        with pytest.raises(Refused, match="not a member"):
            renew_invitation(study=study, user=outsider, by=owner)

    def test_lead_makes_none(self, study, lead, invited):
        with pytest.raises(PermissionDenied):
            renew_invitation(study=study, user=invited, by=lead)


def test_database_holds_one_role_per_person(study, coder):
    with pytest.raises(IntegrityError, match=r"one_role_per_person|UNIQUE"), transaction.atomic():
        Membership.objects.create(study=study, user=coder, role="lead", joined_at=timezone.now())


def test_database_refuses_an_unknown_role(study, outsider):
    with pytest.raises(IntegrityError, match="role_is_known"), transaction.atomic():
        Membership.objects.create(study=study, user=outsider, role="admin", joined_at=timezone.now())


def test_database_holds_one_study_per_address(study):
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.create(slug=study.slug, name="Copy", created_at=timezone.now())
