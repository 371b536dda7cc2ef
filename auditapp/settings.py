"""Settings of the site: one file, every value from the environment or a safe default (docs/reference/settings.md)."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF

from auditapp.site.environment import (
    check_environment,
    env_addresses,
    env_base_url,
    env_bool,
    env_data_folder,
    env_database_url,
    env_field_keys,
    env_log_level,
    env_networks,
    env_number,
    env_provider_keys,
    env_redis_url,
    env_second_factor,
    env_secret_key,
    env_time_zone,
    make_data_folder,
    read_last_address,
)

# A process serves several people at once. A numerical library that starts a thread per core for every product makes
# them wait for each other: coefficients of agreement take three times as long with it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Reading the settings makes no folder and no key, so that a command that needs no data leaves nothing behind.
BASE_DIR = Path(__file__).resolve().parent.parent
check_environment(BASE_DIR / "var")
DATA = env_data_folder(BASE_DIR / "var")

BASE_URL = env_base_url(read_last_address(DATA, "http://127.0.0.1:8000"))
_address = urlsplit(BASE_URL)
DEBUG = env_bool("DEBUG", default=False)
SECRET_KEY = env_secret_key(DATA)
# Encrypt the keys of provider accounts. Kept apart from the database, so that a copy of it gives no key away.
FIELD_KEYS = env_field_keys(DATA)
# Private addresses that model calls may go to, beside those on the list in the database.
ALLOW_PRIVATE_PROVIDERS = env_addresses("ALLOW_PRIVATE_PROVIDERS")
# Private addresses that webhooks may go to. Not those of models: a lead could then send to a model's server what she likes.
ALLOW_PRIVATE_WEBHOOKS = env_addresses("ALLOW_PRIVATE_WEBHOOKS")
# The only variables that may be sent to a provider as a key, and where to: a page can then name no other.
PROVIDER_KEYS = env_provider_keys("PROVIDER_KEYS")
# The loopback names serve health checks; no link is ever built from a request's host.
ALLOWED_HOSTS = [_address.hostname or "127.0.0.1", "127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [BASE_URL]
# Only these may say for whom they ask, and whether by https; the web server then gives Django that address and scheme.
TRUSTED_PROXIES = env_networks("TRUSTED_PROXIES", default="127.0.0.0/8,::1")

# Without Django REST framework: it is used for JSON alone, and as an app every page would load it for its template tags.
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "django_htmx",
    "drf_spectacular_sidecar",
    "template_partials",
    "transcripts.ui",
    "transcripts.audit_trail",
    "transcripts.accounts",
    "transcripts.studies",
    "transcripts.jobs",
    "transcripts.corpus",
    "transcripts.codebook",
    "transcripts.rounds",
    "transcripts.coding",
    "transcripts.desk",
    "transcripts.blinding",
    "transcripts.revision",
    "transcripts.agreement",
    "transcripts.analysis",
    "transcripts.negotiation",
    "transcripts.exchange",
    "auditapp.llm",
    "auditapp.batches",
    "auditapp.annotators",
    "auditapp.suggestions",
    "auditapp.evaluation",
    "auditapp.benchmarks.sob",
    "auditapp.benchmarks.scenarios",
    "auditapp.benchmarks.experiments",
    "auditapp.benchmarks.gender_cues",
    "auditapp.webhooks",
    "auditapp.api",
    "auditapp.demo",
    "auditapp.operations",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "transcripts.accounts.adapter.RequireSecondFactor",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "auditapp.site.pages.WrongMethodPage",
    "auditapp.site.pages.NoStore",
    "auditapp.site.pages.KnownToServer",
]

ROOT_URLCONF = "auditapp.urls"
WSGI_APPLICATION = "auditapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "transcripts.ui.navigation.site",
            ],
            # The tags of a room that are a few lines are in the module of its pages.
            "libraries": {
                "cases": "transcripts.negotiation.views.cases",
                "conditions": "transcripts.blinding.views",
                "figures": "transcripts.analysis.search.views",
                "positionality": "transcripts.analysis.themes.views.reflexive",
                "re_review": "transcripts.revision.views",
            },
        },
    },
]

# --- Database: SQLite as the defaults lose writes (IMMEDIATE, WAL, FULL), or any PostgreSQL ---------------------
DATABASES: dict[str, dict[str, Any]] = {
    "default": environ.Env.db_url_config(env_database_url(f"sqlite:///{DATA / 'auditapp.sqlite3'}"))
}
CONN_MAX_AGE = env_number("CONN_MAX_AGE")
DATABASES["default"]["CONN_MAX_AGE"] = CONN_MAX_AGE
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":

    def connect_in_data_folder(*args: Any, **options: Any) -> sqlite3.Connection:
        """Open the database, in a data folder made for it if need be."""
        make_data_folder(DATA)
        return sqlite3.Connection(*args, **options)

    DATABASES["default"]["ENGINE"] = "auditapp.site.sqlite_queue"
    DATABASES["default"]["OPTIONS"] = {
        "factory": connect_in_data_folder,
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16000;",
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # A server that vanished is noticed within half a minute, and not after a quarter of an hour.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,
        "tcp_user_timeout": 30_000,
        **DATABASES["default"].get("OPTIONS", {}),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Sign-in rate limits must hold over all web processes, so they live in the database.
CACHES = {
    "default": {
        "BACKEND": "transcripts.accounts.passwords.CountingCache",
        "LOCATION": "cache_entry",
        # Beyond this, counts are thrown away: too small a table lets a flood of names empty it.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

# --- Accounts -------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["transcripts.accounts.sessions.PersonBackend"]
SESSION_ENGINE = "transcripts.accounts.sessions"
MESSAGE_STORAGE = "transcripts.accounts.sessions.MessageStorage"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "transcripts.accounts.passwords.PatternValidator"},
]
ACCOUNT_ADAPTER = "transcripts.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
# Requests to sign in from an address, which a classroom may share. Wrong passwords: from an address, and for a name from one
# address; in a browser in which the person signed in before; and for a name from all other browsers together.
ACCOUNT_RATE_LIMITS = {
    "login": "120/m/ip",
    "login_failed": "60/m/ip,5/5m/key",
    "login_failed_known": "5/5m/key",
    "login_failed_anywhere": "30/h/key",
}
MFA_ADAPTER = "transcripts.accounts.adapter.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_TOLERANCE = 1  # a clock may be half a minute off
MFA_TOTP_ISSUER = f"auditapp ({_address.hostname})"
REQUIRE_SECOND_FACTOR = env_second_factor()
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "studies:land"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
# A session ends so long after its last use, and so long after its person signed in.
SESSION_IDLE_HOURS = env_number("SESSION_IDLE_HOURS")
SESSION_COOKIE_AGE = env_number("SESSION_DAYS") * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "auditapp.site.pages.show_csrf_failure"

# --- Transport and content security -----------------------------------------------------------------------------
if _address.scheme == "https":
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-session", "__Host-csrf"
    SECURE_HSTS_SECONDS = env_number("HSTS_SECONDS")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^api/"]  # the API refuses http itself
# Whether all subdomains speak https, and preloading, are decisions of the domain's owner, not of one site in it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
# Each conversation of an account's export that is shown before it comes in can be unticked.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000

# --- Language, time, static files ---------------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
USE_TZ = True
TIME_ZONE = env_time_zone()
STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
# What the documents link to has the same place below static/ as in docs/: static/docs/images/desk.webp.
STATICFILES_DIRS = [
    BASE_DIR / "static",
    *((f"docs/{folder}", BASE_DIR / "docs" / folder) for folder in ("images", "examples", "security")),
]
# `manage.py prepare` collects the files under hashed names, each page's script as one; a bare checkout serves them as they lie.
HASHED_STATIC_FILES = "auditapp.site.static_files.CollectedFiles"
_COLLECTED = (STATIC_ROOT / "staticfiles.json").exists() and not DEBUG
WHITENOISE_USE_FINDERS = not _COLLECTED
WHITENOISE_MIMETYPES = {".speculationrules": "application/speculationrules+json"}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": HASHED_STATIC_FILES if _COLLECTED else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- Messages to the workers: Celery over Redis, or over files in the data folder ---------------------------------------------
REDIS_URL = env_redis_url()
SPOOL_FOLDER = DATA / "spool"
# A batch whose server gives no answer for so long is paused, until it answers.
OUTAGE_PAUSE_SECONDS = env_number("OUTAGE_PAUSE_SECONDS")
# The most that one launch may ask (its cells are inserted in one transaction), and that members of a study may have open at once
# and upload on a day. The owner of the site is held to the first only.
MAX_CELLS_PER_LAUNCH = env_number("MAX_CELLS_PER_LAUNCH")
MAX_OPEN_BATCHES = env_number("MAX_OPEN_BATCHES")
MAX_UPLOAD_MB_PER_DAY = env_number("MAX_UPLOAD_MB_PER_DAY")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
# A sweep never waits behind a row of work queues.
CELERY_TASK_DEFAULT_QUEUE = "work"
CELERY_TASK_ROUTES = {"batches.sweep": {"queue": "sweeps"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 60
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for its broker however long that is away
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BEAT_SCHEDULE = {"sweep": {"task": "batches.sweep", "schedule": 5.0, "options": {"expires": 10}}}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA / "beat-schedule")
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "visibility_timeout": 3600,
        "socket_connect_timeout": 3,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }
else:
    CELERY_BROKER_URL = "filesystem://localhost"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA / "doorbell"),
        "data_folder_out": str(DATA / "doorbell"),
        "control_folder": str(DATA / "doorbell-control"),
        "store_processed": False,
        "polling_interval": 0.05,
    }

# --- The API --------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["auditapp.api.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["auditapp.api.authentication.RequestThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "auditapp.api.schema.DeclaredSchema",
    "DEFAULT_PAGINATION_CLASS": "auditapp.api.views.Pages",
    "EXCEPTION_HANDLER": "auditapp.api.errors.answer_exception",
    "UNAUTHENTICATED_USER": None,
}
API_REQUESTS_PER_MINUTE = env_number("API_REQUESTS_PER_MINUTE")
SPECTACULAR_SETTINGS = {
    "TITLE": "auditapp API",
    "VERSION": "1",
    "DESCRIPTION": "Bring in interviews and codebooks, read texts, code and follow batches, by the rules of the pages.",
    # 3.1 can say which scope of a token an operation needs.
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": BASE_URL}],
    "SERVE_INCLUDE_SCHEMA": False,
    # Bodies are described apart from answers: a field of a body may not be empty.
    "COMPONENT_SPLIT_REQUEST": True,
    # Fields that are named alike and mean different things.
    "ENUM_NAME_OVERRIDES": {
        "ThreadKindEnum": "transcripts.corpus.models.Kind.choices",
        "SentenceKindEnum": "auditapp.api.interviews.SENTENCE_KINDS",
        "TurnRoleEnum": "auditapp.api.interviews.TURN_ROLES",
        "BatchStateEnum": "auditapp.api.batches.BATCH_STATES",
        "JobStateEnum": "auditapp.api.exports.JOB_STATES",
        "MemoKindEnum": "auditapp.api.memos.MEMO_KINDS",
        "LinkKindEnum": "auditapp.api.negotiation.LINK_KINDS",
        "ModeEnum": "auditapp.api.measures.ANNOTATOR_MODES",
        "SessionModeEnum": "auditapp.api.sessions.SESSION_MODES",
        "SessionStateEnum": "auditapp.api.sessions.SESSION_STATES",
        "QuestionKindEnum": "auditapp.api.sessions.QUESTION_KINDS",
        "QuestionStateEnum": "auditapp.api.sessions.QUESTION_STATES",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "auditapp.api.schema.refuse_unknown_fields",
    ],
}

# --- What is written down when something fails: never a key ---------------------------------------------------------
DEFAULT_EXCEPTION_REPORTER = "auditapp.llm.failures.KeylessReporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "auditapp.llm.failures.KeylessFilter"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "auditapp.site.log_lines.Line",
            "format": "{asctime} {levelname} {name} {message}",
            "style": "{",
        }
    },
    "filters": {
        "no_keys": {"()": "auditapp.llm.pure.key_removal.KeyFilter"},
        "brief_outages": {"()": "auditapp.site.log_lines.BriefOutages"},
        "brief_refusals": {"()": "auditapp.site.log_lines.BriefRefusals"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["no_keys"]}},
    # kombu warns about the missing host of a broker of files, which has none.
    "loggers": {
        "kombu.connection": {"level": "ERROR"},
        "django.request": {"filters": ["brief_outages", "brief_refusals"]},
    },
    "root": {"handlers": ["stderr"], "level": env_log_level("INFO")},
}
