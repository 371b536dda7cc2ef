"""Short ways to give a study another codebook version."""

from dataclasses import replace

from transcripts.codebook import actions
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version
from transcripts.formats.codebook_rules import CodeContent


def current(study):
    version = current_version(study)
    assert version is not None
    return version


def code_of(version, identifier):
    return Code.objects.select_related("family", "version").get(version=version, identifier=identifier)


def give(code, **changed):
    """What the code is to be: as it is, but for what is named."""
    content = CodeContent(
        identifier=code.identifier,
        name=code.name,
        family=code.family.identifier,
        group=code.group,
        aliases=tuple(code.aliases),
        definition=code.definition,
        machine_definition=code.machine_definition,
        include=code.include,
        exclude=code.exclude,
        key=code.key,
        source=code.source,
        color=code.color,
        terms=tuple(code.terms),
    )
    return replace(content, **changed)


def narrow(study, identifier, by, *, effect="narrowing"):
    """Publish a version in which one code is defined anew."""
    draft = actions.start_draft(study=study, by=by)
    code = code_of(draft, identifier)
    given = give(code, attributes=(), definition="Only where two goods are weighed against each other by name.")
    actions.edit_code(code=code, revision=None, given=given, by=by, effect=effect, reason="too wide")
    actions.publish_version(version=draft, by=by)
    return current(study)


def merge(study, identifiers, into, by):
    """Publish a version in which codes are merged into one of them."""
    draft = actions.start_draft(study=study, by=by)
    codes = [code_of(draft, identifier) for identifier in identifiers]
    actions.merge_codes(version=draft, codes=codes, into=code_of(draft, into), reason="cannot be told apart", by=by)
    actions.publish_version(version=draft, by=by)
    return current(study)


def split(study, identifier, names, by):
    """Publish a version in which one code is split into new ones with these names."""
    draft = actions.start_draft(study=study, by=by)
    code = code_of(draft, identifier)
    parts = [CodeContent(identifier="", name=name, family=code.family.identifier) for name in names]
    actions.split_code(code=code, revision=None, parts=parts, reason="two things in one", by=by)
    actions.publish_version(version=draft, by=by)
    return current(study)
