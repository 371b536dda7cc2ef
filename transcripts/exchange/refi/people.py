"""The people of a project file beside those of a study, and what an import stored, or would store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import IntegrityError, transaction

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.problems import show_count
from transcripts.formats.qdpx_content import QdpxUser
from transcripts.projects.models import Project

MARK = "(imported)"
NOBODY = "unknown coder"
MAX_NAME_LENGTH = 150


class FilePerson(NamedTuple):
    """Somebody in the file, and whose name in the study she bears, if anybody's."""

    guid: str
    name: str
    member: User | None

    @property
    def kept_apart_as(self) -> str:
        """The name of the account without a way in that stands for her where she is nobody of the study."""
        name = self.name.removesuffix(f" {MARK}")
        return f"{name[: MAX_NAME_LENGTH - len(MARK) - 1]} {MARK}"


def match_people(project: Project, users: Sequence[QdpxUser]) -> list[FilePerson]:
    """The people of the file with the members who bear their names."""
    members = {user.username.casefold(): user for user in project.members.all()}
    found = []
    for user in users:
        name = " ".join((user.id or user.name).split()) or NOBODY
        member = members.get(user.id.casefold()) or members.get(user.name.casefold())
        found.append(FilePerson(user.guid, name, member))
    return found


class Accounts:
    """The account for each person of a file. Who is no member, or is to be kept ``apart``, has one that nobody can use;
    it is made when the first work of hers comes up. For a ``rehearsal`` it is not stored.
    """

    def __init__(
        self, people: Sequence[FilePerson], *, apart: Collection[str], by: trail.Actor, rehearsal: bool = False
    ) -> None:
        self.found: dict[str, User] = {}
        self._people = {person.guid: person for person in people}
        self._apart = apart
        self._by = by
        self._rehearsal = rehearsal

    def find(self, guid: str) -> User:
        """The account for a GUID; that of nobody known, where the file does not say who it was."""
        if guid not in self.found:
            person = self._people.get(guid) or FilePerson("", NOBODY, None)
            is_member = guid not in self._apart and person.name not in self._apart
            account = person.member if is_member else None
            self.found[guid] = account or self._keep_apart(person.kept_apart_as)
        return self.found[guid]

    def _keep_apart(self, name: str) -> User:
        user = _find_account(name)
        if user is not None:
            return user
        if self._rehearsal:
            # No stored account has such a number.
            return User(pk=-1 - len(self.found), username=name, is_active=False)
        try:
            return _store_placeholder(name, by=self._by)
        except IntegrityError:
            # Another file that comes in at the same time has made it.
            user = _find_account(name)
            if user is None:
                raise
            return user


def _find_account(name: str) -> User | None:
    return User.objects.filter(username__iexact=name).first()


@transaction.atomic
def _store_placeholder(name: str, *, by: trail.Actor) -> User:
    user = User(username=name, is_active=False)
    user.set_unusable_password()
    user.save()
    trail.record("account.placeholder.created", target=user, by=by)
    return user


@dataclass
class StudyReport:
    """``new`` and ``known`` count things by kind. ``left_out`` are sentences on what is not imported, ``notes`` on what
    is imported in another form. ``namesakes`` are names of codes that the study has under other GUIDs.
    """

    name: str
    sha256: str
    origin: str
    people: list[FilePerson] = field(default_factory=list)
    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    codebook_version: int | None = None
    namesakes: list[str] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        """Whether anything is new to the study."""
        return any(self.new.values())

    @property
    def kinds(self) -> list[tuple[str, int, int]]:
        """What was counted, each with how many are new and how many were known."""
        order = ["interviews", "sentences", "codes", "codings", "memos"]
        return [(kind, self.new[kind], self.known[kind]) for kind in order if self.new[kind] or self.known[kind]]

    def add_namesakes(self, *, are_same: bool) -> None:
        """Add the sentence on codes whose names the study has: whether they are those of the study was asked."""
        if not self.namesakes:
            return
        one = len(self.namesakes) == 1
        begin = "1 code has" if one else f"{len(self.namesakes):,} codes have"
        what = (
            f"{'it is' if one else 'they are'} taken for the study’s"
            if are_same
            else f"{'it is' if one else 'they are'} imported as {'a new code' if one else 'new codes'}"
        )
        self.notes.append(f"{begin} the name of a code of this study, but another GUID: {what}.")

    def leave_out(self, number: int, noun: str, why: str) -> None:
        """Add a sentence on things that are not imported."""
        if number:
            self.left_out.append(f"{show_count(number, noun)}: {why}")

    def add_note(self, number: int, noun: str, what: str) -> None:
        """Add a sentence on things that are imported in another form."""
        if number:
            self.notes.append(f"{show_count(number, noun)}: {what}")
