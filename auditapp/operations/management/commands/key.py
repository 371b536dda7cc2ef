from __future__ import annotations

from django.core.management.base import CommandError

from auditapp.llm.actions import rotate_keys
from auditapp.webhooks.actions import seal_secrets_again
from transcripts.accounts.actions import seal_second_factors_again
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, Noun


class Rotate(ActCommand):
    help = (
        "Encrypt every stored provider key, webhook secret and second factor again with the first key of FIELD_KEY, so that the "
        "other keys can be removed."
    )

    def handle(self, *args: object, **options: object) -> None:
        sealed, broken = rotate_keys(by=trail.SYSTEM)
        factors, people = seal_second_factors_again(by=trail.SYSTEM)
        if people:
            raise CommandError(
                f"FIELD_KEY does not decrypt the second factor of {', '.join(people)}. Add the key it was encrypted with to "
                "FIELD_KEY, after a comma, and run this again, or use manage.py user remove-second-factor NAME."
            )
        hooks, broken_hooks = seal_secrets_again(by=trail.SYSTEM)
        if broken_hooks:
            raise CommandError(
                f"FIELD_KEY does not decrypt the secret of {', '.join(broken_hooks)}. Add the key it was encrypted with to "
                "FIELD_KEY, after a comma, and run this again, or turn these webhooks off."
            )
        if broken:
            raise CommandError(
                f"{sealed} keys encrypted again, but FIELD_KEY does not decrypt the stored keys of "
                f"{', '.join(broken)}. Add the key they were encrypted with to FIELD_KEY, after a comma, and run "
                "this again, or set the keys of these accounts again."
            )
        answer = {"sealed_again": sealed, "second_factors": factors, "webhooks": hooks}
        text = (
            f"{sealed} stored keys, {factors} second factors and {hooks} webhook secrets are encrypted with the first key of "
            "FIELD_KEY. The other keys can be removed from it."
        )
        self.answer(answer, text)


class Command(Noun):
    help = "The keys with which stored secrets are encrypted."
    verbs = {
        "rotate": Rotate,
    }
