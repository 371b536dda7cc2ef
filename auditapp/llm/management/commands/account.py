from __future__ import annotations

import sys
from getpass import getpass

from django.core.management.base import CommandError

from auditapp.llm.actions import add_account, forget_key, set_key, set_key_env
from auditapp.llm.credentials import read_allowed_addresses
from auditapp.llm.forms import ModelForm
from auditapp.llm.management import describe_allowed
from auditapp.llm.models import ProviderAccount
from auditapp.llm.queries import find_key_state
from transcripts.audit_trail import trail
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, arguments_of, find_row, pick


class Add(ActCommand):
    help = (
        "Add an account: where calls go and who pays. Its key is read from an environment variable of the worker, or stored "
        "with set-key."
    )
    takes = (
        Argument("name"),
        *arguments_of(ModelForm, "provider"),
        *arguments_of(ProviderAccount, "base_url key_env"),
    )

    def handle(self, *args: object, **options: object) -> None:
        before = read_allowed_addresses()
        account = add_account(**pick(options, "name provider base_url key_env"), by=trail.SYSTEM, allow_private=True)
        allowed = sorted(read_allowed_addresses() - before)
        answer = {
            "account": account.name,
            "provider": account.provider,
            "base_url": account.base_url,
            "key": find_key_state(account),
            "allowed_addresses": allowed,
        }
        self.answer(answer, [f"Account {account.name}: {answer['key']}.", *map(describe_allowed, allowed)])


class SetKey(ActCommand):
    help = (
        "Store the key of an account. It is read from standard input, never from the command line, where others on the "
        "machine could see it. Or read it from a variable (--env), or delete it (--forget)."
    )
    takes = (
        Argument("account"),
        OneOf(
            Argument("--env", help="environment variable of the worker that holds the key"),
            Argument("--forget", action="store_true", help="delete the stored key"),
            needed=False,
        ),
    )

    def handle(self, *args: object, **options: object) -> None:
        account = find_row(ProviderAccount.objects.order_by("name"), "account", name=options["account"])
        if options["env"] is not None:
            account = set_key_env(account=account, key_env=str(options["env"]), by=trail.SYSTEM)
        elif options["forget"]:
            account = forget_key(account=account, by=trail.SYSTEM)
        else:
            account = set_key(account=account, key=read_key(), by=trail.SYSTEM)
        state = find_key_state(account)
        answer = {"account": account.name, "key": state}
        self.answer(answer, f"The key of {account.name}: {state}.")


def read_key() -> str:
    """The key, typed at a terminal without being shown, or piped in. Raises ``CommandError`` if there is none."""
    key = getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise CommandError("There was no key on standard input. Pipe it in, or run this at a terminal and paste it.")
    return key


class Command(Noun):
    help = "Add accounts, where calls go and who pays, and set their keys."
    verbs = {
        "add": Add,
        "set-key": SetKey,
    }
