import base64
import io
import logging
from urllib.parse import quote

import pytest
from celery.app.log import TaskFormatter
from celery.signals import after_setup_logger, after_setup_task_logger
from django.test import RequestFactory
from django.views.debug import get_exception_reporter_class, get_exception_reporter_filter
from hypothesis import given
from hypothesis import strategies as st

from auditapp.celery import keep_keys_out
from auditapp.llm.failures import KeylessReporter
from auditapp.llm.pure.key_removal import REMOVED, KeyFilter, remember_key, remove_keys
from auditapp.settings import LOGGING

KEY = "canary/Zk93+bQ7tXw=1a2b"


@pytest.fixture(autouse=True)
def _known():
    remember_key(KEY)


@pytest.fixture
def log():
    """A logger of its own with a handler as the settings make them, and what it wrote."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(TaskFormatter("%(levelname)s %(message)s"))
    handler.addFilter(KeyFilter())
    logger = logging.Logger("canary")
    logger.addHandler(handler)
    return logger, written


class TestRemoveKeys:
    @pytest.mark.parametrize(
        "text",
        [
            KEY,
            f"Authorization: Bearer {KEY}",
            KEY.encode().hex(),
            KEY.encode().hex().upper(),
            f"https://example.org/?key={quote(KEY, safe='')}",
            base64.b64encode(KEY.encode()).decode(),
        ],
    )
    def test_a_known_key_goes_in_every_form(self, text):
        clean = remove_keys(f"before {text} after")
        assert text not in clean
        assert REMOVED in clean
        assert clean.startswith("before ")
        assert clean.endswith(" after")

    @given(before=st.binary(max_size=9), after=st.binary(max_size=9))
    def test_a_known_key_goes_from_base64_wherever_it_begins(self, before, after):
        remember_key(KEY)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            clean = remove_keys(encode(before + KEY.encode() + after).decode())
            assert REMOVED in clean

    @pytest.mark.parametrize(
        "text",
        [
            "Bearer abcdefgh1234",
            "sk-proj-abcdefgh",
            '{"x-api-key": "abcdefgh1234"}',
            "api_key=abcdefgh1234",
            "'Authorization': 'Basic abcdefgh1234'",
        ],
    )
    def test_what_looks_like_a_key_goes_too(self, text):
        clean = remove_keys(text)
        assert REMOVED in clean
        assert "abcdefgh" not in clean

    @pytest.mark.parametrize("text", ["task-abcdefghij was done", "the bearer of news", "queue 5 of batch 7 rang", ""])
    def test_other_words_stay(self, text):
        assert remove_keys(text) == text

    def test_so_short_a_word_is_no_secret(self):
        remember_key("ollama")
        assert remove_keys("ollama answers") == "ollama answers"


class TestLog:
    def test_messages_arguments_and_tracebacks_hold_no_key(self, log):
        logger, written = log
        logger.error("the key is %s", KEY)
        logger.error("in %(place)s", {"place": {"x-api-key": KEY}})
        try:
            raise ValueError(f"refused {KEY}")
        except ValueError:
            logger.exception("it failed")
        logger.error("stack", stack_info=True)
        assert KEY not in written.getvalue()
        assert written.getvalue().count(REMOVED) == 3
        assert "ValueError: refused" in written.getvalue()

    def test_a_message_that_its_arguments_do_not_fit_stops_nobody(self, log):
        logger, written = log
        logger.error("%d calls", KEY)
        assert "%d calls" in written.getvalue()
        assert KEY not in written.getvalue()

    def test_other_records_are_left_as_they_are(self, log):
        logger, written = log
        logger.warning("%d queues of %s", 3, "batch 7")
        assert "WARNING 3 queues of batch 7" in written.getvalue()

    def test_the_log_of_the_settings_and_celerys_own_are_filtered(self):
        handlers = LOGGING["handlers"]
        assert [each["filters"] for each in handlers.values()] == [["no_keys"]]
        for signal in (after_setup_logger, after_setup_task_logger):
            logger = logging.Logger("celery.task")
            logger.addHandler(logging.StreamHandler(io.StringIO()))
            signal.send(sender=None, logger=logger, loglevel=20, logfile=None, format="", colorize=False)
            keep_keys_out(logger)
            [handler] = logger.handlers
            assert [type(each) for each in handler.filters] == [KeyFilter]


class TestFailureReport:
    @pytest.mark.parametrize("debug", [True, False])
    def test_a_report_of_a_failure_shows_no_key(self, debug, settings):
        settings.DEBUG = debug
        request = RequestFactory().post("/models/accounts/1/key/", {"key": KEY, "note": KEY})
        request.META["HTTP_X_ODD"] = KEY

        def fall_over(secret):
            inner = {"header": f"Bearer {secret}"}
            raise ValueError(f"{inner} does not work")

        try:
            fall_over(KEY)
        except ValueError as error:
            reporter = KeylessReporter(request, type(error), error, error.__traceback__)
        for report in (reporter.get_traceback_html(), reporter.get_traceback_text()):
            assert KEY not in report
            assert REMOVED in report
        assert str(get_exception_reporter_class(request)) == str(KeylessReporter)
        assert get_exception_reporter_filter(request).is_active(request)
