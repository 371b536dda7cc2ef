from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from transcripts.accounts.models import User
from transcripts.ui.fields import RowsField


@pytest.mark.parametrize("number", [str(2**63), "-" + str(2**63 + 1), "9" * 30, "9" * 5_000, "\u0661\u0662", "x", ""])
def test_number_that_no_row_has_is_no_choice_however_large(owner: User, number: str) -> None:
    field = RowsField(queryset=User.objects.all())
    assert [*field.clean([str(owner.pk)])] == [owner]
    with pytest.raises(ValidationError):
        field.clean([str(owner.pk), number])
