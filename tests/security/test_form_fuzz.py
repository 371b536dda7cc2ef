"""Every form and every list of the site, filled in with odd values: refused or taken, never a failure of the server.

``FUZZ_SECONDS=600 FUZZ_SEED=7 python -m pytest tests/security/test_form_fuzz.py`` runs longer, and from another seed.
"""

import os
import time
import traceback
from itertools import cycle
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from tests.security.filling import Filler, read_to_end, write_urlencoded
from tests.support.whole_study import ADDRESSES, set_stage
from tests.test_access_matrix import OF_A_PERSON, OF_A_STUDY, OF_THE_SITE_OWNER, undone
from tools.environment import ROOT
from transcripts.accounts.models import User

SEED = int(os.environ.get("FUZZ_SEED", "1"))
SECONDS = float(os.environ.get("FUZZ_SECONDS", "40"))
# Once to learn what a view looks for, once with that.
TIMES = 2
FORMS = sorted(
    {name for name, row in OF_A_STUDY.items() if "POST" in row and not name.startswith("api:")}
    | OF_A_PERSON
    | OF_THE_SITE_OWNER
)
PAGES = sorted(
    {name for name, row in OF_A_STUDY.items() if "GET" in row and not name.startswith("api:")}
    | OF_A_PERSON
    | OF_THE_SITE_OWNER
)


class Fuzzer:
    """The owner of the site, who may send everything, over a study with one of everything."""

    def __init__(self, stage, seed):
        self.stage = stage
        self.filler = Filler(seed)
        self.client = Client()
        self.client.force_login(User.objects.create(username="root", is_superuser=True))
        self.signed_in = self.client.cookies.output()
        self.wrong = {}
        self.sent = 0
        account = stage.things["variant_id"]
        self.site = {"account_id": stage.version.study.batches.all()[0].arms.all()[0].variant.account_id}
        self.site |= {"variant_id": account, "user_id": stage.things["user_id"]}

    def find_path(self, name):
        holes = ADDRESSES[name].holes
        if "slug" in holes:
            return self.stage.path(name)
        return reverse(name, kwargs={hole: self.site.get(hole, 1) for hole in holes})

    def read_pages(self):
        """Learn what the forms of all pages offer, and which parameters pages look for."""
        for name in PAGES:
            with undone(), self.filler.listening(name):
                answer = self.client.get(self.find_path(name))
                read_to_end(answer)
            if answer.status_code == 200 and not answer.streaming:
                self.filler.read_page(self.find_path(name), answer.content.decode(errors="replace"))

    def send(self, name):
        """One form to the view ``name``."""
        body, kind = self.filler.write(self.filler.fill(name))
        self._ask(name, "POST", self.find_path(name), body, kind)

    def look(self, name):
        """The page ``name`` with odd parameters."""
        query = write_urlencoded(self.filler.fill(name)).decode()
        self._ask(name, "GET", f"{self.find_path(name)}?{query[:4000]}", b"", "")

    def _ask(self, name, method, path, body, kind):
        self.sent += 1
        # Signing out was undone as well.
        self.client.cookies.load(self.signed_in.replace("Set-Cookie: ", ""))
        try:
            with undone(), self.filler.listening(name):
                answer = self.client.generic(method, path, body, kind)
                read_to_end(answer)
            problem = f"{answer.status_code}" if answer.status_code >= 500 else ""
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_ours(frame.filename)]
            place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
            problem = f"{type(error).__name__}: {str(error)[:150]} at {place}"
        if problem:
            self.wrong.setdefault(f"{method} {name}: {problem}", f"{path[:300]} {body[:600]!r}")


def is_ours(path):
    return Path(path).is_relative_to(ROOT) and ".venv" not in path and "/tests/" not in path


@pytest.fixture
def fuzzer(study, owner, second_coder):
    return Fuzzer(set_stage(study, owner, second_coder), SEED)


@pytest.mark.full
def test_no_form_filled_in_oddly_makes_the_server_fail(fuzzer):
    for name in FORMS:
        for _ in range(TIMES):
            fuzzer.send(name)
    assert fuzzer.wrong == {}
    # Most take fields, whose names were found by what views look for.
    found = {name for name in FORMS if fuzzer.filler.asked_for[name]}
    assert len(found) > len(FORMS) / 2


@pytest.mark.full
def test_nothing_sent_for_a_while_makes_the_server_fail(fuzzer):
    fuzzer.read_pages()
    end = time.monotonic() + SECONDS
    for form, page in zip(cycle(FORMS), cycle(PAGES), strict=False):
        fuzzer.send(form)
        fuzzer.look(page)
        if time.monotonic() > end:
            break
    assert fuzzer.wrong == {}
    assert fuzzer.sent > 200
