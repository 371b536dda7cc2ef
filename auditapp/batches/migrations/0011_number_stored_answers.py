from django.db import migrations

# The answers of each batch in the order in which they were stored.
NUMBER = """
UPDATE batches_cell SET answer_number = numbered.place
FROM (
    SELECT result.cell_id, ROW_NUMBER() OVER (PARTITION BY cell.batch_id ORDER BY result.stored_at, result.cell_id) AS place
    FROM batches_result AS result JOIN batches_cell AS cell ON cell.id = result.cell_id
) AS numbered
WHERE batches_cell.id = numbered.cell_id
"""


class Migration(migrations.Migration):
    dependencies = [("batches", "0010_answers_are_numbered")]

    operations = [migrations.RunSQL(NUMBER, migrations.RunSQL.noop)]
