import subprocess
import sys
import time
from unittest.mock import patch

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from transcripts.accounts import passwords


@pytest.mark.django_db
def test_a_browser_is_forgotten_after_a_year(person):
    response = HttpResponse()
    passwords.remember_browser(RequestFactory().get("/"), response, person)
    request = RequestFactory().get("/")
    request.COOKIES.update({name: morsel.value for name, morsel in response.cookies.items()})
    assert passwords.find_known_browser(request, person)
    later = time.time() + passwords.LIFE_SECONDS + 1
    with patch("django.core.signing.time.time", return_value=later):
        assert not passwords.find_known_browser(request, person)


def test_the_cache_that_the_settings_name_is_there_before_any_model():
    code = "import sys, transcripts.accounts.passwords; sys.exit('transcripts.accounts.models' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
