import uuid
from collections import Counter
from typing import Any

from django.db import migrations


def number_marks(apps: Any, schema_editor: Any) -> None:
    """Number each reviewer's marks of an item in the order made, and find which were made after opening the results."""
    opened = {
        (audit, person): at
        for audit, person, at in apps.get_model("preannotation", "ResultsOpening")
        .objects.values_list("audit", "opened_by", "opened_at")
        .iterator()
    }
    numbers: Counter[tuple[int, int]] = Counter()
    sent = set()
    marks = apps.get_model("preannotation", "PositiveMark").objects
    for mark in marks.order_by("pk").select_related("item").iterator():
        numbers[mark.item_id, mark.reviewer_id] += 1
        at = opened.get((mark.item.audit_id, mark.reviewer_id))
        # A form's number was unique for each person; from now on it is unique for all.
        client_id = uuid.uuid4() if mark.client_id in sent else mark.client_id
        sent.add(client_id)
        marks.filter(pk=mark.pk).update(
            number=numbers[mark.item_id, mark.reviewer_id],
            after_opening=at is not None and at <= mark.made_at,
            client_id=client_id,
        )


class Migration(migrations.Migration):
    dependencies = [("preannotation", "0007_audits_share_fields")]

    operations = [migrations.RunPython(number_marks, migrations.RunPython.noop)]
