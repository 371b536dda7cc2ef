"""The values of a coding in our own part of a project file, GUIDs, links as notes; and the people and the report of an import."""

from __future__ import annotations

import io
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Min, QuerySet

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook import files
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.pure.checking import fold
from transcripts.codebook.queries import latest_version, read_content, used_identifiers
from transcripts.coding.models import Blinding, Coding, Link, Memo
from transcripts.coding.values import CHOICE_FIELDS, PLAIN
from transcripts.exchange import pure
from transcripts.exchange.coding_rows import show_answers
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_json import MAX_FILE_SIZE, read_codebook_json, write_codebook_json
from transcripts.formats.codebook_rules import CodebookContent, CodeContent
from transcripts.formats.guarded_input import open_zip
from transcripts.formats.problems import InputRefused, show_count
from transcripts.formats.qdpx_content import QdpxNote, QdpxUser
from transcripts.formats.refi import QdcCode, lay_out_codes, make_guid, read_guid, read_moment, show_moment, write_qdc
from transcripts.studies.models import Study

MAX_ANSWERS = 50
MARK = "(imported)"
NOBODY = "unknown coder"
MAX_NAME_LENGTH = 150


class Guids:
    """The GUIDs of the rows of one kind in a study.

    A key is unique only for its person. If several people's rows have the same key, it is the GUID of the oldest; the others
    get a GUID made from person and key. Rows are never deleted, so a GUID never changes. If a key is ``taken`` by something
    else, all its GUIDs are made.
    """

    def __init__(self, kind: str, rows: QuerySet[Any], taken: QuerySet[Any] | None = None) -> None:
        self._kind = kind
        self._rows = rows.order_by()
        self._taken = taken

    def find(self, key: UUID, *, pk: int, person: str) -> str:
        """The GUID of the row with this number, key and person."""
        return str(key) if self._first_of.get(key, pk) == pk else self._make(key, person)

    def list_made(self, keys: Collection[UUID], *, person: str) -> set[UUID]:
        """The made GUIDs for a person's rows with these keys."""
        return {UUID(self._make(key, person)) for key in self._first_of.keys() & set(keys)}

    def _make(self, key: UUID, person: str) -> str:
        return make_guid(self._kind, person, str(key))

    @cached_property
    def _first_of(self) -> dict[UUID, int]:
        """The oldest row for each key that several rows have; 0 if none of them has it as its GUID."""
        shared = self._rows.values("idempotency_key").annotate(first=Min("pk"), several=Count("pk"))
        found = dict(shared.filter(several__gt=1).values_list("idempotency_key", "first"))
        if self._taken is not None:
            keys = self._rows.filter(idempotency_key__in=self._taken).values_list("idempotency_key", flat=True)
            found |= dict.fromkeys(keys, 0)
        return found


def guids_of_codings(study: Study) -> Guids:
    return Guids("coding of", Coding.objects.filter(sentence__turn__interview__owning_study=study))


def guids_of_memos(study: Study) -> Guids:
    codings = Coding.objects.filter(sentence__turn__interview__owning_study=study).values("idempotency_key")
    return Guids("memo of", Memo.objects.filter(study=study), taken=codings)


class StudyGuids:
    """All GUIDs of a study's export that come from keys."""

    def __init__(self, study: Study) -> None:
        self._codings = guids_of_codings(study)
        self._memos = guids_of_memos(study)
        links = Link.objects.filter(coding__sentence__turn__interview__owning_study=study)
        self._links = Guids("link of", links)

    def of_coding(self, coding: Coding) -> str:
        return self._codings.find(coding.idempotency_key, pk=coding.pk, person=coding.coder.username)

    def of_memo(self, memo: Memo) -> str:
        return self._memos.find(memo.idempotency_key, pk=memo.pk, person=memo.author.username)

    def of_link(self, link: Link) -> str:
        return self._links.find(link.idempotency_key, pk=link.pk, person=link.coder.username)


def write_details(coding: Coding) -> dict[str, str]:
    """The values that the standard cannot represent; empty ones are left out."""
    details = {
        "blinding": coding.blinding,
        **{name: getattr(coding, name) for name in CHOICE_FIELDS},
        "reason": coding.reason,
        "attributes": show_answers(json.dumps(coding.attributes)) if coding.attributes else "",
        "range": str(coding.range_id or ""),
        "codebook_version": str(coding.code.version.number),
    }
    return {name: value for name, value in details.items() if value}


def read_details(details: Mapping[str, str], family: CodeFamily) -> dict[str, Any]:
    """The columns of a coding.

    A coding from another program counts as assisted, because it is not known what its coder had seen, and agreement is computed
    only from blind codings.
    """
    return {
        "blinding": _one_of(Blinding.values, details.get("blinding"), Blinding.ASSISTED.value),
        **{
            name: _one_of(field.choices.values, details.get(name), getattr(PLAIN, name))
            for name, field in CHOICE_FIELDS.items()
            if name == "level" or field.applies_to(family)
        },
        "reason": details.get("reason", ""),
        "attributes": _read_answers(details.get("attributes", "")),
        "range_id": UUID(guid) if (guid := read_guid(details.get("range"))) else None,
    }


def write_parts(first: Coding, others: Sequence[Coding], guids: StudyGuids) -> dict[str, str]:
    """Names and times of a range's further codings, if they differ from those derived from its first coding."""
    parts = [(guids.of_coding(coding), show_moment(coding.created_at)) for coding in others]
    name, made = guids.of_coding(first), show_moment(first.created_at)
    if parts == [(pure.name_part(name, number), made) for number in range(1, len(parts) + 1)]:
        return {}
    return {"parts": json.dumps(parts)}


def read_parts(details: Mapping[str, str]) -> list[tuple[str, datetime]]:
    """Names and times of a range's further codings; empty if they are missing or in another form."""
    try:
        found = json.loads(details.get("parts", "[]"))
        parts = [(read_guid(name), read_moment(made)) for name, made in found]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []
    known = [(name, made) for name, made in parts if name and made]
    return known if len(known) == len(parts) else []


def _one_of(words: list[str], word: str | None, otherwise: str) -> str:
    return word if word in words else otherwise


def _read_answers(text: str) -> dict[str, str]:
    try:
        answers = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(answers, dict) or len(answers) > MAX_ANSWERS:
        return {}
    return {key: value for key, value in answers.items() if isinstance(value, str)}


def list_link_notes(codings: Collection[Coding], guids: StudyGuids) -> dict[int, list[str]]:
    """The GUIDs of the notes on codings, by the id of the coding."""
    found: dict[int, list[str]] = defaultdict(list)
    links = Link.objects.active().filter(coding__in=[coding.pk for coding in codings]).order_by("pk")
    for link in links.select_related("coder"):
        found[link.coding_id].append(pure.name_link_note(guids.of_link(link)))
    return found


def read_link_notes(codings: QuerySet[Coding], guids: StudyGuids) -> Iterator[QdpxNote]:
    """A note for each active link of these codings: its kind, and the code or place to which it leads."""
    links = Link.objects.active().filter(coding__in=codings.values("pk")).order_by("pk")
    for link in links.select_related("code", "sentence__turn__interview", "coder").iterator(chunk_size=500):
        yield QdpxNote(
            guid=pure.name_link_note(guids.of_link(link)),
            name=f"{pure.LINK_NOTE}{link.get_kind_display().lower()}",
            text=_describe_end(link),
            user=pure.name_user(link.coder.username),
            created=link.created_at,
        )


def is_link_note(note: QdpxNote) -> bool:
    """Whether a note of a file describes a link."""
    return note.name.startswith(pure.LINK_NOTE)


def _describe_end(link: Link) -> str:
    if link.code is not None:
        return f"{link.code.name} ({link.code.identifier})"
    sentence = link.sentence
    if sentence is None:
        return ""
    turn = sentence.turn
    text = turn.text[sentence.start : sentence.end]
    if link.quote_start is not None:
        text = turn.text[link.quote_start : link.quote_end]
    return f"{turn.interview.external_id}, turn {turn.position}, sentence {sentence.label}: {text}"


class FilePerson(NamedTuple):
    """A person in the file, and the member with the same name, if any."""

    guid: str
    name: str
    member: User | None

    @property
    def kept_apart_as(self) -> str:
        """The name of the account without sign-in that represents her if she is not a member of the study."""
        name = self.name.removesuffix(f" {MARK}")
        return f"{name[: MAX_NAME_LENGTH - len(MARK) - 1]} {MARK}"


def match_people(study: Study, users: Sequence[QdpxUser]) -> list[FilePerson]:
    """The people in the file with the members who have the same names."""
    members = {user.username.casefold(): user for user in study.members.all()}
    found = []
    for user in users:
        name = " ".join((user.id or user.name).split()) or NOBODY
        member = members.get(user.id.casefold()) or members.get(user.name.casefold())
        found.append(FilePerson(user.guid, name, member))
    return found


class Accounts:
    """The account for each person in a file. A person who is not a member, or is kept ``apart``, has an account that nobody can
    use; it is made for the first of her work. For a ``rehearsal`` it is not stored.
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
        """The account for a GUID, or that of an unknown person if the file does not name one."""
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
            # Another import has made it at the same time.
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
    """``new`` and ``known`` count things by kind. ``left_out`` are sentences on what is not imported, ``notes`` on what is
    imported in another form. ``namesakes`` are names of codes that the study has with other GUIDs.
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
        """Add the sentence on codes whose names the study has, with the decision whether they are the study's."""
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


class MatchedCodes(NamedTuple):
    """The codes of a file in a study: their identifiers by GUID, and the content of the next version.

    ``known`` are in the study already, and ``reworded`` are those of them with another wording in the file. ``namesakes`` are
    the names of codes that the study has under other GUIDs.
    """

    identifiers: dict[str, str]
    content: CodebookContent
    new: int
    known: int
    reworded: int
    namesakes: list[str]


def match_codes(
    study: Study,
    codes: Sequence[QdcCode],
    own: CodebookContent | None,
    applied: AbstractSet[str] = frozenset(),
    *,
    by_name: bool = False,
) -> MatchedCodes:
    """Find the codes of a file in a study, and add new ones below the existing ones. The study's wording is kept.

    ``applied`` are the GUIDs of codes that have codings in the file: they are codes even if the file calls them categories.
    ``by_name``: namesakes are the study's codes, because some programs give every code a new GUID.
    """
    latest = latest_version(study)
    known = read_content(latest) if latest else CodebookContent()
    codes = [code._replace(is_codable=True) if code.guid in applied else code for code in codes]
    is_ours = own is not None and _is_of(own, codes)
    namesakes = {} if is_ours else _find_namesakes(study, codes, known)
    renamed: dict[str, str] = {**namesakes, **_find_families(study, codes, known)} if by_name and namesakes else {}
    content_of_file, found = _read(
        study,
        [
            code._replace(
                guid=renamed.get(code.guid, code.guid), parent_guid=renamed.get(code.parent_guid, code.parent_guid)
            )
            for code in codes
        ],
        own if is_ours else None,
        known,
    )
    identifiers = {code.guid: found[guid] for code in codes if (guid := renamed.get(code.guid, code.guid)) in found}
    there = {code.identifier: code for code in known.codes}
    new = [code for code in content_of_file.codes if code.identifier not in there]
    families = {family.identifier for family in known.families}
    content = replace(
        known,
        families=(*known.families, *(each for each in content_of_file.families if each.identifier not in families)),
        codes=(*known.codes, *_free_keys(new, known)),
        # A pinned sentence needs a place in the file's interviews, which come later; an invented one needs none.
        examples=tuple(each for each in content_of_file.examples if each.code not in there and not each.interview),
    )
    same = [code for code in content_of_file.codes if code.identifier in there]
    reworded = sum(1 for code in same if code.definition and code.definition != there[code.identifier].definition)
    names = [code.name for code in codes if code.guid in namesakes]
    return MatchedCodes(identifiers, content, len(new), len(same), reworded, names)


def _find_namesakes(study: Study, codes: Sequence[QdcCode], known: CodebookContent) -> dict[str, str]:
    """The GUIDs of codes of the study, by those of codes of the file with the same names. Ambiguous names, in the study or in the
    file, are ignored."""
    of_study = {each.identifier: each.name for each in known.codes if not each.is_category}
    by_guid = {make_guid("code", study.slug, identifier): name for identifier, name in of_study.items()}
    tails = {identifier[-files.GUID_DIGITS - 1 :] for identifier in of_study}
    other = {
        code.guid: code.name for code in codes if code.is_codable and f"_{code.guid[: files.GUID_DIGITS]}" not in tails
    }
    return _pair_by_name(other, by_guid)


def _find_families(study: Study, codes: Sequence[QdcCode], known: CodebookContent) -> dict[str, str]:
    """The same for families, so that new codes go into those of the study."""
    of_study = {make_guid("family", study.slug, each.identifier): each.name for each in known.families}
    tops = {code.guid: code.name for code in codes if not code.parent_guid and not code.is_codable}
    return _pair_by_name(tops, of_study)


def _pair_by_name(of_file: Mapping[str, str], of_study: Mapping[str, str]) -> dict[str, str]:
    there, here = _index_once(of_file), _index_once(of_study)
    return {there[name]: here[name] for name in there.keys() & here.keys() if there[name] not in of_study}


def _index_once(names: Mapping[str, str]) -> dict[str, str]:
    """The GUIDs by name, without names that come twice."""
    times = Counter(fold(name) for name in names.values())
    return {folded: guid for guid, name in names.items() if times[folded := fold(name)] == 1}


def _is_of(own: CodebookContent, codes: Sequence[QdcCode]) -> bool:
    """Whether our own part of a file is about these codes."""
    return [code.name for code in lay_out_codes(own, scope="")] == [code.name for code in codes]


def write_content(content: CodebookContent) -> bytes:
    """The next version as a codebook file."""
    stream = io.StringIO()
    write_codebook_json(replace(content, title="", origin="", number=None), stream)
    return stream.getvalue().encode()


def _read(
    study: Study, codes: Sequence[QdcCode], own: CodebookContent | None, known: CodebookContent
) -> tuple[CodebookContent, dict[str, str]]:
    """The content of the file, and the identifiers of its codes; our own part has both."""
    if own is not None:
        of_guid = {make_guid("code", "", code.identifier): code.identifier for code in own.codes}
        pairs = zip(codes, lay_out_codes(own, scope=""), strict=True)
        return own, {code.guid: of_guid[mine.guid] for code, mine in pairs if mine.guid in of_guid}
    stream = io.BytesIO()
    write_qdc([code._replace(notes=()) for code in codes], stream)
    file = files.read_file(
        stream.getvalue(), name="project.qde", scope=study.slug, known=known, used=used_identifiers(study)
    )
    below = [code for code in codes if code.parent_guid or code.is_codable]
    return file.content, {code.guid: read.identifier for code, read in zip(below, file.content.codes, strict=True)}


def _free_keys(new: Sequence[CodeContent], known: CodebookContent) -> list[CodeContent]:
    """Remove the keys that codes of the study already have."""
    taken = {code.key for code in known.codes}
    return [replace(code, key="") if code.key in taken else code for code in new]


def read_own_codebook(stream: BinaryIO) -> CodebookContent | None:
    """Our own part of the archive about the codebook; ``None`` if there is no readable one."""
    try:
        with open_zip(stream) as archive:
            if pure.CODEBOOK_ENTRY not in archive:
                return None
            data = bytearray()
            for chunk in archive.read_chunks(pure.CODEBOOK_ENTRY):
                data += chunk
                if len(data) > MAX_FILE_SIZE:
                    return None
        return read_codebook_json(bytes(data), name=pure.CODEBOOK_ENTRY)
    except (InputRefused, CodebookFileError):
        return None
