"""Recording consent in tests."""

from transcripts.corpus.consent import record_consent


def allow(by, *interviews, scope, given=True):
    """Put on record that something may be done with interviews of one study, or with ``given`` False that it may not."""
    study = interviews[0].study
    assert study is not None
    record_consent(study=study, interviews=interviews, scope=scope, is_given=given, basis="a form", by=by)


def refuse(by, *interviews, scope="coding"):
    allow(by, *interviews, scope=scope, given=False)
