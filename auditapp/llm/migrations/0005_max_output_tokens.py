from django.db import migrations


class Migration(migrations.Migration):
    """``most_output_tokens`` becomes ``max_output_tokens``. A name only."""

    dependencies = [("llm", "0004_variants_belong_to_accounts")]

    operations = [
        migrations.RenameField(
            model_name="capabilities", old_name="most_output_tokens", new_name="max_output_tokens"
        ),
    ]
