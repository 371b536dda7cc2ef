from __future__ import annotations

import hashlib
import pkgutil
from importlib import import_module

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from auditapp.demo import SLUG
from auditapp.site.environment import make_site_files, mark_data_folder
from transcripts.accounts.actions import create_sign_in_link, ensure_owner
from transcripts.accounts.queries import sign_in_address
from transcripts.accounts.sessions import SessionStore
from transcripts.audit_trail import trail
from transcripts.studies.models import Study
from transcripts.ui.commands import AS_JSON, ActCommand, Argument


class Command(ActCommand):
    help = "Prepare a data folder: migrations, static files, the demo study (once). With --json also a sign-in link."
    # Every restart waits for this command; `make check` runs the checks.
    requires_system_checks = ()
    takes = (
        Argument("--no-demo", action="store_true", help="without the demo study"),
        Argument("--local-model", metavar="LABEL", help="add a model that is served on this machine"),
        Argument("--local-model-url", metavar="URL", default="", help="where it is served now"),
        Argument("--local-model-is-small", action="store_true", help="warn that its answers are poor"),
        AS_JSON,
    )

    def handle(self, *args: object, **options: object) -> None:
        try:
            self._prepare(options)
        except (OperationalError, PermissionError) as error:
            place = settings.DATABASES["default"]["NAME"]
            raise CommandError(
                f"The data folder {settings.DATA} or the database {place} cannot be opened or written to ({error}). See that both "
                "are there, belong to this user, are not mounted read-only, and that the disk has room."
            ) from None

    def _prepare(self, options: dict[str, object]) -> None:
        make_site_files()
        if find_pending_migrations():
            call_command("migrate", verbosity=0, interactive=False)
        SessionStore.clear_expired()
        settings.STORAGES["staticfiles"] = {"BACKEND": settings.HASHED_STATIC_FILES}
        collect_static_files()
        if not options["no_demo"] and not Study.objects.filter(slug=SLUG).exists():
            # Imports most of the program, which only the first start needs.
            from auditapp.demo.actions import load_demo

            load_demo()
        if options["local_model"]:
            from auditapp.llm.actions import ensure_local_model

            ensure_local_model(
                label=str(options["local_model"]),
                base_url=str(options["local_model_url"]),
                is_small=bool(options["local_model_is_small"]),
                by=trail.SYSTEM,
            )
        owner = ensure_owner()
        mark_data_folder()
        ready = "Ready. For a link that signs the owner of the site in: manage.py user sign-in"
        link = {}
        if self.as_json:
            # Otherwise no link: at a server this is written to a log at each start.
            secret = create_sign_in_link(user=owner, by=trail.SYSTEM)
            link = {"sign_in_url": sign_in_address(secret), "user": owner.username}
        self.answer(link, ready)


def find_pending_migrations() -> set[tuple[str, str]]:
    """App and name of each migration file that the database does not record.

    ``migrate`` would find the same, after importing every migration.
    """
    files = set()
    for config in apps.get_app_configs():
        package, _ = MigrationLoader.migrations_module(config.label)
        try:
            folders = import_module(package).__path__ if package else []
        except ModuleNotFoundError:
            continue  # an app without models
        files |= {(config.label, each.name) for each in pkgutil.iter_modules(folders) if each.name[0] not in "_~"}
    return files - set(MigrationRecorder(connection).applied_migrations())


def collect_static_files() -> None:
    """Collect the static files under hashed names, unless the same files were collected before."""
    stamp = settings.DATA / "static-files.sha256"
    digest = _digest_static_files()
    is_collected = (settings.STATIC_ROOT / "staticfiles.json").exists()
    if is_collected and stamp.exists() and stamp.read_text(encoding="ascii") == digest:
        return
    stamp.unlink(missing_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(digest, encoding="ascii")


def _digest_static_files() -> str:
    """A hash of the path, size and time of every file that would be collected."""
    digest = hashlib.sha256(settings.HASHED_STATIC_FILES.encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            found = storage.path(path)
            digest.update(
                f"{path}|{storage.size(path)}|{storage.get_modified_time(path).timestamp()}|{found}\n".encode()
            )
    return digest.hexdigest()
