"""What a question would raise before the model did: shown before it is sent, because what follows on it counts as prompted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from auditapp.scenarios.models import Play
from auditapp.scenarios.queries.talks import Exchange
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.pure.prompting import Prompts, Signs, quote_mention
from transcripts.retrieval.prompts import read_study_signs


class Raised(NamedTuple):
    """A code that a question raises."""

    name: Annotated[str, "Name of the code."]
    words: Annotated[str, "The words of the question that name it; empty where its kind raises it."]


def find_opening(play: Play) -> str:
    """The text that the play begins with by its script."""
    return next((each["text"] for each in play.script.openings if each["id"] == play.opening), "")


def find_raised(play: Play, before: Sequence[Exchange], text: str, kind: str) -> dict[str, Raised]:
    """The codes that this question raises while neither the model nor the interviewer has: by identifiers, in the order of
    the codebook. The script's opening is no question of the interviewer's: nothing is said of it.

    By the function that says of codings whether they are prompted: a code is raised where its name, another name or one of its
    terms stands, or by a question of a kind that it names. Codes for the interviewer's turns alone are left out.
    """
    project = play.project
    version = current_version(project)
    is_opening = not before and text.replace("\r\n", "\n") == find_opening(play)
    if version is None or is_opening or not (text.strip() or kind):
        return {}
    codes = version.codes.filter(is_category=False).exclude(family__applies_to=CodeFamily.AppliesTo.INTERVIEWER)
    names = dict(codes.order_by("family__position", "position").values_list("identifier", "name"))
    signs = read_study_signs(project)
    asked = [(each.number, each.question.text, each.question.kind) for each in before]
    answered = [(each.number, each.answer, "") for each in before if each.has_result]
    own, earlier, model = Prompts([(1, text, kind)], signs), Prompts(asked, signs), Prompts(answered, signs)
    return {
        code: Raised(name, quote_mention(text, signs.get(code, Signs())))
        for code, name in names.items()
        if own.find_mention(code) is not None
        and earlier.find_mention(code) is None
        and model.find_mention(code) is None
    }
