"""A study with three codes put on five sentences, and short ways to make themes of them."""

from tests.transcripts.coding.cast import find_code, put
from transcripts.analysis.themes.actions import ThemeText, create_theme
from transcripts.blinding.actions import unblind_interview
from transcripts.corpus.models import Sentence

BALANCE, CONTEXT, COMPASSION = "theme.balance", "theme.identity_as_context", "theme.compassion"


def answers(interview):
    """What the model says, sentence by sentence."""
    sentences = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    return list(sentences.select_related("turn__interview").order_by("position"))


def make_theme(study, by, name="Weighing", codes=(BALANCE, COMPASSION)):
    return create_theme(study=study, text=ThemeText(name, "One idea", "What belongs"), codes=codes, by=by)


def put_on(sentence, identifier, by, *, level="semantic"):
    """Put a code on; a latent one gets its line."""
    code = find_code(sentence.turn.interview.study, identifier)
    return put(sentence, code, by, level=level, note="As I read it." if level == "latent" else "")


def open_all(study, user):
    """Open colleagues' codings of every interview to somebody."""
    for interview in study.interviews.all():
        unblind_interview(study=study, interview=interview, by=user, where="test")
