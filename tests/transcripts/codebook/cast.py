"""Codebooks as plain values, for tests of what needs no database.

Short ways to edit a draft in tests."""

from dataclasses import replace

from hypothesis import strategies as st

from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import study_stream
from transcripts.codebook import actions, queries
from transcripts.codebook.pure import editing
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent


def code(identifier, family="f", **values):
    return CodeContent(identifier=identifier, family=family, **{"name": identifier.title(), **values})


def family(identifier="f", **values):
    return FamilyContent(identifier=identifier, **{"name": identifier.title(), **values})


ONE_FAMILY = (family(),)


def content(*codes, families=ONE_FAMILY):
    return CodebookContent(families=families, codes=codes)


@st.composite
def contents(draw):
    """Two families of sentences and one of turns, with codes under one another, in the order of reading."""
    families = (family("f"), family("g"), family("t", unit="turn"))
    codes = []
    for number in range(draw(st.integers(1, 9))):
        place = draw(st.sampled_from(["f", "g", "t"]))
        above = [each.identifier for each in codes if each.family == place]
        parent = draw(st.sampled_from(["", *above])) if number else ""
        text = draw(st.sampled_from(["", "one text", "another text"]))
        codes.append(
            code(f"c{number}", place, parent=parent, definition=text, aliases=draw(st.sampled_from([(), ("x",)])))
        )
    from transcripts.codebook.pure.checking import order_as_tree

    return CodebookContent(families=families, codes=order_as_tree(codes, families))


def find(version, identifier):
    return version.codes.select_related("family", "version__study", "parent").get(identifier=identifier)


def content_of(version, identifier):
    return editing.find_code(queries.read_content(version), identifier)


def edit(version, identifier, by, *, effect="", reason="", **values):
    """Change some fields of a code as it stands."""
    code = find(version, identifier)
    given = replace(content_of(version, identifier), **values)
    return actions.edit_code(code=code, revision=code.revision, given=given, by=by, effect=effect, reason=reason)


def new_code(name="New", family="themes", **values):
    return CodeContent(identifier="", family=family, name=name, **values)


def list_steps(version):
    return list(version.changes.values_list("kind", "effect", "from_identifier", "to_identifier"))


def list_events(study):
    events = AuditEvent.objects.filter(stream=study_stream(study.pk)).order_by("sequence")
    return list(events.values_list("action", flat=True))


def snapshot(version):
    """Every stored value of a version, to see that nothing of it changed."""
    return [*version.families.order_by("pk").values(), *version.codes.order_by("pk").values()]
