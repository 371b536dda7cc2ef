import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile

from auditapp.batches.forms import AnswersForm
from auditapp.benchmarks.gender_cues.forms import LoadForm as ReviewsForm
from auditapp.benchmarks.scenarios.forms import LoadForm
from auditapp.benchmarks.sob.judging.forms import ImportForm
from auditapp.benchmarks.sob.texts.forms import FileForm
from transcripts.accounts.models import User
from transcripts.codebook.forms import CodebookFileForm
from transcripts.exchange.views import StudyFileForm
from transcripts.ui.forms import RowsField


@pytest.mark.parametrize("number", [str(2**63), "-" + str(2**63 + 1), "9" * 30, "9" * 5_000, "\u0661\u0662", "x", ""])
def test_number_that_no_row_has_is_no_choice_however_large(owner, number):
    field = RowsField(queryset=User.objects.all())
    assert [*field.clean([str(owner.pk)])] == [owner]
    with pytest.raises(ValidationError):
        field.clean([str(owner.pk), number])


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        (AnswersForm, "Split the file between two lines"),
        (ReviewsForm, "manage.py probe winnow --into"),
        (LoadForm, "manage.py scenario load"),
        (ImportForm, "manage.py sob import"),
        (FileForm, "Split it."),
        (CodebookFileForm, ""),
        (StudyFileForm, ""),
    ],
)
def test_file_that_is_too_large_is_refused_with_what_to_do(form, hint):
    file = SimpleUploadedFile("large", b"x")
    file.size = 10**12
    with pytest.raises(ValidationError) as refused:
        form.base_fields["file"].clean(file)
    [sentence] = refused.value.messages
    assert sentence.startswith("This file is 931.3\xa0GB; the limit is ")
    assert hint in sentence
