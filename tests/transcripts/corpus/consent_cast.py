"""Recording consent in tests."""

from __future__ import annotations

from transcripts.accounts.models import User
from transcripts.corpus.consent import record_consent
from transcripts.corpus.models import Interview


def allow(by: User, *interviews: Interview, scope: str, given: bool = True) -> None:
    """Put on record that something may be done with interviews of one study, or with ``given`` False that it may not."""
    study = interviews[0].study
    assert study is not None
    record_consent(study=study, interviews=interviews, scope=scope, is_given=given, basis="a form", by=by)


def refuse(by: User, *interviews: Interview, scope: str = "coding") -> None:
    allow(by, *interviews, scope=scope, given=False)
