from __future__ import annotations

import json

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from auditapp.demo.actions import ensure_owner, load_demo
from auditapp.environment import make_site_files
from transcripts.accounts.actions import create_sign_in_link
from transcripts.audit_trail import trail


class Command(BaseCommand):
    help = "Make a data folder ready to serve: migrations, static files, the demo study once, and a sign-in link."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        make_site_files()
        call_command("migrate", verbosity=0, interactive=False)
        call_command("createcachetable", verbosity=0)
        settings.STORAGES["staticfiles"] = {"BACKEND": settings.HASHED_STATIC_FILES}
        call_command("collectstatic", verbosity=0, interactive=False)
        if not options["no_demo"]:
            load_demo()
        owner = ensure_owner()
        secret = create_sign_in_link(user=owner, by=trail.SYSTEM)
        url = f"{settings.BASE_URL}/sign-in/{secret}/"
        if options["json"]:
            self.stdout.write(json.dumps({"sign_in_url": url, "user": owner.username}))
        else:
            self.stdout.write(f"Sign in once at {url}")
