"""Who may open which address: every address of the site map, tried by everybody.

The table below is the expected answer. An address without a row fails, so whoever adds one says who may use it.
"""

from contextlib import contextmanager

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from auditapp.benchmarks.sob.models import StoredReport
from tests.conftest import make_member, make_user
from tests.support.whole_study import ADDRESSES, add_coding, add_decision, add_export, add_memo, set_stage
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope, User
from transcripts.codebook.actions import start_study
from transcripts.studies.access import find_role
from transcripts.studies.roles import ROLES, Permission

SIGN_IN = "/accounts/login/"
SIX = ("owner", "lead", "coder", "reader", "outsider", "nobody")
QUICK = ("coder", "nobody")


Row = dict[str, Permission]


def seen(permission=Permission.VIEW):
    return {"GET": permission}


def sent(permission):
    return {"POST": permission}


def filled_in(permission):
    return {"GET": permission, "POST": permission}


# What a member needs, by the method of the request; every other method is refused.
OF_A_STUDY = {
    "llm:judges": seen(),
    "llm:judge": seen(),
    "studies:home": seen(),
    "studies:skip_step": sent(Permission.SET_METHOD),
    "studies:history": seen(Permission.SEE_ALL_CODINGS),
    "studies:method": seen(),
    "studies:set_method": sent(Permission.SET_METHOD),
    "studies:members": seen(),
    "studies:add_member": sent(Permission.MANAGE_MEMBERS),
    "studies:withdraw_invitation": sent(Permission.MANAGE_MEMBERS),
    "studies:change_role": sent(Permission.MANAGE_MEMBERS),
    "studies:remove_member": filled_in(Permission.MANAGE_MEMBERS),
    "studies:renew_link": sent(Permission.MANAGE_MEMBERS),
    "studies:revoke_link": sent(Permission.MANAGE_MEMBERS),
    "codebook:current": seen(),
    "codebook:version": seen(),
    "codebook:import": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:publish": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:key_card": seen(),
    "codebook:code": seen(),
    "codebook:choose_comparison": seen(),
    "codebook:compare": seen(),
    "codebook:start_draft": sent(Permission.EDIT_CODEBOOK),
    "codebook:take_newer_parts": sent(Permission.EDIT_CODEBOOK),
    "codebook:discard": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:draft": seen(Permission.EDIT_CODEBOOK),
    "codebook:move": sent(Permission.EDIT_CODEBOOK),
    "codebook:restore": sent(Permission.EDIT_CODEBOOK),
    "codebook:merge": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:add_family": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:edit_family": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:remove_family": sent(Permission.EDIT_CODEBOOK),
    "codebook:add_code": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:edit_code": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:retire_code": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:split_code": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:pin_example": sent(Permission.EDIT_CODEBOOK),
    "codebook:add_invented_example": sent(Permission.EDIT_CODEBOOK),
    "codebook:unpin_example": sent(Permission.EDIT_CODEBOOK),
    "codebook:repin_example": sent(Permission.EDIT_CODEBOOK),
    "codebook:pin": filled_in(Permission.EDIT_CODEBOOK),
    "codebook:propose": filled_in(Permission.CODE),
    "codebook:proposals": seen(),
    "codebook:answer_proposal": sent(Permission.EDIT_CODEBOOK),
    "corpus:interviews": seen(),
    "corpus:import": filled_in(Permission.IMPORT),
    "jobs:job": seen(Permission.IMPORT),
    "jobs:import_checked": sent(Permission.IMPORT),
    "jobs:cancel": sent(Permission.IMPORT),
    "jobs:take_file": sent(Permission.IMPORT),
    "jobs:delete_file": sent(Permission.IMPORT),
    "corpus:details": {"GET": Permission.VIEW, "POST": Permission.IMPORT},
    "blinding:condition": filled_in(Permission.CODE),
    "blinding:unmask": filled_in(Permission.IMPORT),
    "corpus:files": seen(),
    "corpus:undo": filled_in(Permission.IMPORT),
    "corpus:archive": seen(),
    "corpus:add_to_archive": sent(Permission.IMPORT),
    "corpus:restore": sent(Permission.IMPORT),
    "corpus:consent": seen(),
    "corpus:record_consent": sent(Permission.SET_METHOD),
    "corpus:interview_consent": seen(),
    "corpus:redaction": filled_in(Permission.SET_METHOD),
    "rounds:work": seen(Permission.CODE),
    "rounds:all_work": seen(Permission.SEE_ALL_CODINGS),
    "rounds:complete_assignment": sent(Permission.CODE),
    "rounds:complete_several": sent(Permission.CODE),
    "rounds:complete_interview": sent(Permission.CODE),
    "rounds:reopen_interview": sent(Permission.CODE),
    "rounds:list": seen(Permission.SEE_ALL_CODINGS),
    "rounds:new": filled_in(Permission.ASSIGN),
    "rounds:detail": seen(Permission.SEE_ALL_CODINGS),
    "rounds:assignments": sent(Permission.ASSIGN),
    "rounds:lock": sent(Permission.ASSIGN),
    "desk:desk": seen(),
    "desk:marks": seen(Permission.CODE),
    "desk:details": seen(Permission.CODE),
    "desk:add": sent(Permission.CODE),
    "desk:withdraw": sent(Permission.CODE),
    "desk:link": sent(Permission.CODE),
    "desk:unlink": sent(Permission.CODE),
    "desk:decide": sent(Permission.CODE),
    "desk:reopen": sent(Permission.CODE),
    "desk:memo": sent(Permission.CODE),
    "desk:open": sent(Permission.CODE),
    "desk:beside": seen(),
    "desk:split": sent(Permission.EDIT_BOUNDARIES),
    "desk:merge": sent(Permission.EDIT_BOUNDARIES),
    "desk:boundary_edits": seen(),
    "desk:next": seen(),
    "desk:history": seen(Permission.CODE),
    "desk:keys": filled_in(Permission.CODE),
    "desk:keycard": seen(),
    "blinding:unblind": sent(Permission.CODE),
    "scenarios:sessions": seen(),
    "scenarios:open_session": filled_in(Permission.RUN_BATCHES),
    "scenarios:session": seen(),
    "scenarios:talk": seen(),
    "scenarios:ask": sent(Permission.RUN_BATCHES),
    "scenarios:warn": sent(Permission.RUN_BATCHES),
    "scenarios:ask_again": sent(Permission.RUN_BATCHES),
    "scenarios:give_up": sent(Permission.RUN_BATCHES),
    "scenarios:branch": sent(Permission.RUN_BATCHES),
    "scenarios:close": sent(Permission.RUN_BATCHES),
    "scenarios:discard": sent(Permission.RUN_BATCHES),
    "scenarios:scripts": seen(),
    "scenarios:new_script": filled_in(Permission.SET_METHOD),
    "scenarios:next_script": filled_in(Permission.SET_METHOD),
    "negotiation:stances": seen(),
    "negotiation:new_stance": filled_in(Permission.SET_METHOD),
    "negotiation:next_stance": filled_in(Permission.SET_METHOD),
    "negotiation:scores": seen(),
    "negotiation:thread_scores": seen(),
    "negotiation:put_score": sent(Permission.CODE),
    "negotiation:withdraw_score": sent(Permission.CODE),
    "negotiation:own_scores": seen(Permission.CODE),
    "negotiation:put_at_desk": sent(Permission.CODE),
    "negotiation:withdraw_at_desk": sent(Permission.CODE),
    "revision:effects": seen(),
    "revision:migrate": sent(Permission.EDIT_CODEBOOK),
    "revision:undo_migration": sent(Permission.EDIT_CODEBOOK),
    "revision:queue": seen(Permission.CODE),
    "revision:near": seen(Permission.CODE),
    "revision:re_review": filled_in(Permission.CODE),
    "revision:anchors": seen(Permission.CODE),
    "revision:draw": sent(Permission.EDIT_CODEBOOK),
    "revision:add": sent(Permission.EDIT_CODEBOOK),
    "revision:remove": sent(Permission.EDIT_CODEBOOK),
    "revision:read": filled_in(Permission.CODE),
    "themes:themes": seen(),
    "themes:new": filled_in(Permission.WRITE_THEMES),
    "themes:group": filled_in(Permission.WRITE_THEMES),
    "themes:merge": filled_in(Permission.WRITE_THEMES),
    "themes:presence": seen(),
    "themes:compared": seen(),
    "themes:compared_file": sent(Permission.SEE_ALL_CODINGS),
    "themes:evidence": seen(),
    "themes:theme": seen(),
    "themes:history": seen(),
    "themes:edit": filled_in(Permission.WRITE_THEMES),
    "themes:split": filled_in(Permission.WRITE_THEMES),
    "themes:quote": filled_in(Permission.WRITE_THEMES),
    "themes:withdraw_quote": sent(Permission.WRITE_THEMES),
    "themes:phases": seen(),
    "themes:write_entry": sent(Permission.CODE),
    "themes:change_entry": sent(Permission.CODE),
    "themes:withdraw_entry": sent(Permission.CODE),
    "themes:positionality": seen(),
    "themes:write_statement": sent(Permission.CODE),
    "themes:withdraw_statement": sent(Permission.CODE),
    "themes:postpone_statement": sent(Permission.CODE),
    "search:search": seen(),
    "search:by_interview": seen(),
    "search:by_model": seen(),
    "search:by_answer": seen(),
    "search:cooccurrence": seen(),
    "search:score_sheets": seen(),
    "search:score_sheet": seen(),
    "experiments:list": {"GET": Permission.SEE_ALL_CODINGS, "POST": Permission.SET_METHOD},
    "experiments:show": seen(Permission.SEE_ALL_CODINGS),
    "experiments:load": sent(Permission.SET_METHOD),
    "experiments:draw": sent(Permission.SET_METHOD),
    "experiments:sample": sent(Permission.SET_METHOD),
    "experiments:download": sent(Permission.SEE_ALL_CODINGS),
    "negotiation:case_sheet": {"GET": Permission.VIEW, "POST": Permission.ADJUDICATE},
    "negotiation:thread": seen(),
    "negotiation:study": seen(),
    "negotiation:behind": seen(),
    "negotiation:download": sent(Permission.VIEW),
    "negotiation:pairs": {"GET": Permission.VIEW, "POST": Permission.SET_METHOD},
    "negotiation:pair": seen(),
    "negotiation:withdraw_pair": sent(Permission.SET_METHOD),
    # Coders see disagreements once their round is locked; the page says so before.
    "agreement:disagreements": seen(),
    "agreement:table": seen(Permission.SEE_ALL_CODINGS),
    "agreement:so_far": seen(Permission.SEE_ALL_CODINGS),
    "agreement:compute": sent(Permission.SET_METHOD),
    "agreement:download": sent(Permission.SEE_ALL_CODINGS),
    "agreement:units": seen(Permission.SEE_ALL_CODINGS),
    "agreement:queue": seen(Permission.SEE_ALL_CODINGS),
    "agreement:adjudicate": sent(Permission.ADJUDICATE),
    "notebook:list": seen(),
    "notebook:new": filled_in(Permission.CODE),
    "notebook:memo": seen(),
    "notebook:revise": sent(Permission.CODE),
    "notebook:withdraw": sent(Permission.CODE),
    "webhooks:list": seen(Permission.SET_METHOD),
    "webhooks:add": sent(Permission.SET_METHOD),
    "webhooks:webhook": seen(Permission.SET_METHOD),
    "webhooks:test": sent(Permission.SET_METHOD),
    "webhooks:turn_off": sent(Permission.SET_METHOD),
    "api:webhooks": filled_in(Permission.SET_METHOD),
    "exchange:exports": seen(),
    "exchange:download": sent(Permission.EXPORT),
    "exchange:chart": sent(Permission.VIEW),
    "exchange:import": filled_in(Permission.IMPORT),
    "exchange:methods": seen(Permission.SEE_ALL_CODINGS),
    "api:grants": seen(Permission.RUN_BATCHES),
    "batches:grants": seen(Permission.RUN_BATCHES),
    "batches:list": seen(),
    "batches:detail": seen(),
    "batches:spend": seen(),
    "batches:spend_file": sent(Permission.VIEW),
    "batches:control": filled_in(Permission.RUN_BATCHES),
    "batches:end": filled_in(Permission.RUN_BATCHES),
    "batches:end_job": filled_in(Permission.RUN_BATCHES),
    "batches:confirm": filled_in(Permission.RUN_BATCHES),
    "batches:concurrency": filled_in(Permission.RUN_BATCHES),
    "batches:rename": filled_in(Permission.RUN_BATCHES),
    "batches:cap": filled_in(Permission.RUN_BATCHES),
    "batches:retry": filled_in(Permission.RUN_BATCHES),
    "batches:held": filled_in(Permission.RUN_BATCHES),
    "batches:requests": filled_in(Permission.RUN_BATCHES),
    "batches:answers": filled_in(Permission.RUN_BATCHES),
    "batches:attempts": seen(),
    # The answer as it came holds a machine's codes, which a coder sees only after her own decision.
    "batches:attempt": seen(Permission.SEE_ALL_CODINGS),
    "annotators:launch": filled_in(Permission.RUN_BATCHES),
    "annotators:launch_offline": filled_in(Permission.RUN_BATCHES),
    "annotators:run": seen(Permission.SEE_ALL_CODINGS),
    "annotators:cancel_run": sent(Permission.RUN_BATCHES),
    "annotators:annotators": seen(Permission.SEE_ALL_CODINGS),
    "annotators:annotator": seen(Permission.SEE_ALL_CODINGS),
    "annotators:compute_learnt": sent(Permission.SET_METHOD),
    "annotators:turn_answers": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:critic": filled_in(Permission.RUN_BATCHES),
    "evaluation:rejections": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:audits": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:draw_audit": filled_in(Permission.ADJUDICATE),
    "evaluation:audit": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:audit_items": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:audit_results": sent(Permission.ADJUDICATE),
    "evaluation:mark": filled_in(Permission.ADJUDICATE),
    "evaluation:spread": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:calibration": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:calibration_compute": sent(Permission.SET_METHOD),
    "evaluation:calibration_file": sent(Permission.SEE_ALL_CODINGS),
    "evaluation:calibration_cell": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:unsorted": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:disagreements": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:sort_disagreement": sent(Permission.ADJUDICATE),
    "evaluation:choose": filled_in(Permission.SET_METHOD),
    "evaluation:rates": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:rates_compute": sent(Permission.SET_METHOD),
    "evaluation:rates_file": sent(Permission.SEE_ALL_CODINGS),
    "suggestions:panel": sent(Permission.CODE),
    "suggestions:respond": sent(Permission.CODE),
    "suggestions:close": sent(Permission.CODE),
    "evaluation:influence": seen(),
    "suggestions:withholding": filled_in(Permission.SET_METHOD),
    "evaluation:open_completed": sent(Permission.CODE),
    "suggestions:drafts": filled_in(Permission.SET_METHOD),
    "suggestions:close_draft": sent(Permission.SET_METHOD),
    # Checks show a machine's labels: aggregated to whoever sees all codings, by sentence once she has opened the interview.
    "evaluation:checks": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:check": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:check_answers": seen(Permission.SEE_ALL_CODINGS),
    "evaluation:launch_check": filled_in(Permission.RUN_BATCHES),
    "annotators:control_sentences": filled_in(Permission.RUN_BATCHES),
    "annotators:add_control_set": sent(Permission.RUN_BATCHES),
    "annotators:withdraw_control_sentence": sent(Permission.RUN_BATCHES),
    "scenarios:suites": seen(Permission.SEE_ALL_CODINGS),
    "scenarios:load_suite": filled_in(Permission.SET_METHOD),
    "scenarios:load_shipped": sent(Permission.SET_METHOD),
    "scenarios:suite": seen(Permission.SEE_ALL_CODINGS),
    "scenarios:launch": filled_in(Permission.RUN_BATCHES),
    "scenarios:run": seen(Permission.SEE_ALL_CODINGS),
    "scenarios:run_file": sent(Permission.SEE_ALL_CODINGS),
    "gender_cues:home": seen(),
    "gender_cues:purpose": filled_in(Permission.MANAGE_MEMBERS),
    "gender_cues:withdraw": filled_in(Permission.MANAGE_MEMBERS),
    "gender_cues:load": filled_in(Permission.IMPORT),
    "gender_cues:reviews": seen(),
    "gender_cues:launch": filled_in(Permission.RUN_BATCHES),
    "gender_cues:themes": seen(),
    "gender_cues:report": seen(Permission.SEE_ALL_CODINGS),
    "gender_cues:rationales": filled_in(Permission.RUN_BATCHES),
    "gender_cues:file": sent(Permission.SEE_ALL_CODINGS),
    "sob:dashboard": seen(),
    "sob:newest": seen(),
    "sob:load": filled_in(Permission.IMPORT),
    "sob:combine": filled_in(Permission.IMPORT),
    "sob:import": filled_in(Permission.RUN_BATCHES),
    "sob:launch": filled_in(Permission.RUN_BATCHES),
    "sob:datasets": seen(),
    "sob:dataset": seen(),
    "sob:sample": filled_in(Permission.IMPORT),
    "sob:retarget": filled_in(Permission.IMPORT),
    "sob:describe": filled_in(Permission.IMPORT),
    "sob:targets": seen(),
    "sob:target_edit": filled_in(Permission.IMPORT),
    "sob:target_table": seen(),
    "sob:wordings": seen(),
    "sob:wording_new": filled_in(Permission.RUN_BATCHES),
    "sob:wording": seen(),
    "sob:report": seen(),
    "sob:ask_again": filled_in(Permission.VIEW),
    "sob:responses": seen(),
    "sob:values": seen(),
    "sob:map": seen(),
    "sob:mappings": seen(),
    "sob:mapping_table": seen(),
    "sob:mapping_edit": filled_in(Permission.EDIT_CODEBOOK),
    "sob:responses_csv": sent(Permission.EXPORT),
    "sob:statistics": seen(),
    "sob:sensitivity": seen(),
    "sob:model": seen(),
    "sob:target": seen(),
    "sob:texts": seen(),
    "sob:text": seen(),
    "sob:compare": seen(),
    "sob:interpretations": seen(),
    "sob:format_launch": filled_in(Permission.RUN_BATCHES),
    "sob:read_next": seen(Permission.CODE),
    "sob:read_answer": filled_in(Permission.CODE),
    "sob:interpretation_history": seen(Permission.SEE_ALL_CODINGS),
    "sob:audits": seen(),
    "sob:audit_new": filled_in(Permission.ASSIGN),
    "sob:audit": seen(),
    "sob:audit_open": filled_in(Permission.SEE_ALL_CODINGS),
    "sob:mark": filled_in(Permission.CODE),
    "sob:files": seen(Permission.EXPORT),
    "sob:file": sent(Permission.EXPORT),
    "api:study": seen(),
    "api:interviews": {"GET": Permission.VIEW, "POST": Permission.IMPORT},
    "api:interview": seen(),
    "api:turns": seen(),
    "api:study_sentences": seen(),
    "api:sentences": seen(),
    "api:codebook": {"GET": Permission.VIEW, "POST": Permission.EDIT_CODEBOOK},
    "api:codebook_versions": seen(),
    "api:publish": sent(Permission.EDIT_CODEBOOK),
    "api:codings": {"GET": Permission.VIEW, "POST": Permission.CODE},
    "api:withdraw": sent(Permission.CODE),
    "api:add_codings": sent(Permission.CODE),
    "api:decisions": {"GET": Permission.VIEW, "POST": Permission.CODE},
    "api:decide_sentences": sent(Permission.CODE),
    "api:reopen": sent(Permission.CODE),
    "api:links": {"GET": Permission.VIEW, "POST": Permission.CODE},
    "api:withdraw_link": sent(Permission.CODE),
    "api:normative_stances": {"GET": Permission.VIEW, "POST": Permission.SET_METHOD},
    "api:scores": {"GET": Permission.VIEW, "POST": Permission.CODE},
    "api:withdraw_score": sent(Permission.CODE),
    "api:case_sheets": {"GET": Permission.VIEW, "POST": Permission.ADJUDICATE},
    "api:pairs": {"GET": Permission.VIEW, "POST": Permission.SET_METHOD},
    "api:withdraw_pair": sent(Permission.SET_METHOD),
    "api:trajectory_report": seen(),
    "api:experiments": {"GET": Permission.SEE_ALL_CODINGS, "POST": Permission.SET_METHOD},
    "api:experiment_units": sent(Permission.SET_METHOD),
    "api:experiment_report": seen(Permission.SEE_ALL_CODINGS),
    "api:exports": seen(),
    "api:export": sent(Permission.EXPORT),
    "api:export_file": seen(Permission.EXPORT),
    "api:take_export_file": sent(Permission.EXPORT),
    "api:memos": {"GET": Permission.VIEW, "POST": Permission.CODE},
    "api:revise_memo": sent(Permission.CODE),
    "api:withdraw_memo": sent(Permission.CODE),
    "api:batches": seen(),
    "api:batch": seen(),
    "api:probe_report": seen(Permission.SEE_ALL_CODINGS),
    "api:scenario_report": seen(Permission.SEE_ALL_CODINGS),
    "api:scripts": seen(Permission.SEE_ALL_CODINGS),
    "api:sob_report": seen(),
    "api:sob_comparison": seen(),
    "api:launch_preannotation": sent(Permission.RUN_BATCHES),
    "api:estimate_preannotation": sent(Permission.RUN_BATCHES),
    "api:launch_sob": sent(Permission.RUN_BATCHES),
    "api:estimate_sob": sent(Permission.RUN_BATCHES),
    "api:launch_scenarios": sent(Permission.RUN_BATCHES),
    "api:estimate_scenarios": sent(Permission.RUN_BATCHES),
    "api:batch_estimate": seen(Permission.RUN_BATCHES),
    "api:pause_batch": sent(Permission.RUN_BATCHES),
    "api:resume_batch": sent(Permission.RUN_BATCHES),
    "api:cancel_batch": sent(Permission.RUN_BATCHES),
    "api:approve_batch": sent(Permission.RUN_BATCHES),
    "api:name_batch": sent(Permission.RUN_BATCHES),
    "api:end_job": sent(Permission.RUN_BATCHES),
    # As the page of a single call.
    "api:batch_answers": seen(Permission.SEE_ALL_CODINGS),
    "api:sessions": {"GET": Permission.VIEW, "POST": Permission.RUN_BATCHES},
    "api:session_questions": {"GET": Permission.VIEW, "POST": Permission.RUN_BATCHES},
    "api:branch_session": sent(Permission.RUN_BATCHES),
    "api:close_session": sent(Permission.RUN_BATCHES),
    "api:models_compared": seen(),
    "api:agreement": seen(Permission.SEE_ALL_CODINGS),
    "api:annotators": seen(Permission.SEE_ALL_CODINGS),
    "api:calibration": seen(Permission.SEE_ALL_CODINGS),
}
# What is sent where an empty form would say too little.
FORMS = {"batches:control": "act=pause"}
# Pages that lead to another one, which has a row of its own.
LEADS_ON = {
    "desk:next",
    "batches:answers",
    "batches:cap",
    "batches:concurrency",
    "batches:confirm",
    "batches:control",
    "batches:held",
    "batches:rename",
    "batches:requests",
    "batches:retry",
    "sob:ask_again",
    "sob:audit_open",
    "sob:read_next",
}
# Open to the network: at most eight, each for a reason.
OPEN_TO_ALL = {
    "account_login",
    "accounts:use_link",
    "help",
    "help_page",
    "livez",
    "mfa_authenticate",
    "readyz",
}
# For everybody who is signed in; what they show is her own.
OF_A_PERSON = {
    "old_address",
    "studies:answer_invitation",
    "accounts:create_token",
    "accounts:dismiss_introduction",
    "account_reauthenticate",
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_generate_recovery_codes",
    "mfa_index",
    "mfa_reauthenticate",
    "mfa_view_recovery_codes",
    "accounts:close",
    "accounts:me",
    "accounts:revoke_token",
    "accounts:sessions",
    "accounts:end_session",
    "accounts:end_other_sessions",
    "account_change_password",
    "account_logout",
    "codebook:start_study",
    "api_reference",
    "api_schema",
    "studies:land",
    "studies:list",
}
OF_THE_SITE_OWNER = {
    "accounts:close_account_of",
    "accounts:end_sessions_of",
    "accounts:people",
    "accounts:person",
    "accounts:reopen_account",
    "accounts:revoke_tokens_of",
    "accounts:set_rights",
    "batches:account_grants",
    "batches:revoke_grant",
    "llm:account",
    "llm:addresses",
    "llm:change_address",
    "llm:disallow_address",
    "llm:forget_key",
    "llm:model",
    "llm:models",
    "llm:probe",
    "llm:set_capabilities",
    "llm:set_key",
    "llm:set_key_env",
    "llm:set_price",
}
# With a token; the last one is every address below the API that is none.
OF_THE_API = {"api:studies", "api:schema", "api:*"}


@pytest.fixture
def stage(study, owner, second_coder):
    return set_stage(study, owner, second_coder)


@pytest.fixture
def foreign_stage(db):
    """The study of somebody else."""
    stranger = make_user("stranger")
    study = start_study(slug="foreign", name="Foreign", by=stranger)
    return set_stage(study, stranger, make_member(study, stranger, "reader", "friend"))


@contextmanager
def undone():
    """Whatever is done inside was not done afterwards, so that one stage serves for every address."""
    point = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)


@contextmanager
def writes_seen():
    """The statements inside that change a table. Those of the cache and of stored reports can be computed
    again, and when a token was used last changes nothing."""
    written = []
    derived = (
        str(settings.CACHES["default"]["LOCATION"]),
        StoredReport._meta.db_table,
        '"accounts_apitoken" SET "last_used_at"',
    )

    def look(execute, sql, params, many, context):
        looks = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "EXPLAIN", "PRAGMA")
        if not sql.lstrip("( \n").upper().startswith(looks) and not any(table in sql for table in derived):
            written.append(sql[:80])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        yield written


class Visitor:
    """Somebody who tries addresses: with a browser, or where the address is the API's, with a token."""

    def __init__(self, user):
        self.browser = Client(raise_request_exception=False)
        self.program = Client(raise_request_exception=False)
        if user is not None:
            self.browser.force_login(user)
            secret = create_token(user=user, name="test", by=user, scopes=Scope.values)[1]
            self.program = Client(raise_request_exception=False, headers={"authorization": f"Bearer {secret}"})

    def knock(self, path, method, form=""):
        if path.startswith("/api/"):
            kind = "application/x-ndjson" if path.endswith("/bulk/") else "application/json"
            answer = self.program.generic(method, path, (form or "{}") if method == "POST" else "", kind)
        else:
            answer = self.browser.generic(method, path, form, "application/x-www-form-urlencoded")
        if answer.streaming:
            # Read to its end, a download closes its file; and whoever looks at the answer finds it whole.
            answer.streaming_content = [b"".join(answer)]
        return answer


# What was never shown to a person is not there for her, and on this stage nobody was shown a suggestion. Links and scores are
# withdrawn by whoever made them, without a word in the request: for others they are not there either.
NOT_SHOWN_TO_HER = {
    "suggestions:respond",
    "api:withdraw_link",
    "api:withdraw_score",
    *("api:session_questions", "api:branch_session", "api:close_session"),
    *(f"scenarios:{act}" for act in ("ask", "warn", "ask_again", "give_up", "branch", "close", "discard")),
}


def what_is_wrong(who, name, method, answer, written):
    """In words, how ``answer`` differs from what the table promises to ``who``; empty when it keeps the promise."""
    permission = OF_A_STUDY[name][method]
    if who == "nobody" and name.startswith("api:"):
        good, expected = answer.status_code == 401, "401"
    elif who == "nobody":
        good = answer.status_code == 302 and answer["Location"].startswith(SIGN_IN)
        expected = "a redirect to the sign-in page"
    elif who == "outsider":
        good, expected = answer.status_code == 404, "404"
    elif permission not in ROLES[who].permissions:
        good, expected = answer.status_code == 403, "403"
    elif method == "GET" and name in LEADS_ON:
        good, expected = answer.status_code == 302, "a redirect"
    elif method == "GET":
        allowed = {200, 404} if name in NOT_SHOWN_TO_HER else {200}
        good, expected = answer.status_code in allowed, "200"
    else:
        # Most forms are sent empty, so they answer 422; none falls over.
        allowed = {200, 302, 303, 409, 422} | ({404} if name in NOT_SHOWN_TO_HER else set())
        good, expected = answer.status_code in allowed, "an answer to an empty form"
        written = []
    if not good:
        return f"{answer.status_code} instead of {expected}"
    if "no-store" not in answer["Cache-Control"]:
        return "a browser may keep it"
    return f"wrote {written}" if written else ""


def test_every_address_of_a_study_has_a_row_and_every_row_an_address():
    assert {name for name, address in ADDRESSES.items() if "slug" in address.holes} == set(OF_A_STUDY)


def test_every_other_address_is_on_a_list():
    others = {name for name, address in ADDRESSES.items() if "slug" not in address.holes}
    assert others == OPEN_TO_ALL | OF_A_PERSON | OF_THE_SITE_OWNER | OF_THE_API
    assert len(OPEN_TO_ALL) <= 8


@pytest.mark.parametrize("who", [each if each in QUICK else pytest.param(each, marks=pytest.mark.full) for each in SIX])
def test_everybody_gets_what_the_table_says_and_looking_changes_nothing(request, study, stage, who):
    user = None if who == "nobody" else request.getfixturevalue(who)
    visitor = Visitor(user)
    own = add_coding(stage.sentence, stage.version, user) if user and who != "owner" else stage.things["own_coding"]
    # Of memos, as of codings, a blind coder finds her own only.
    memo = add_memo(study, user).pk if user and who != "owner" else stage.things["memo_id"]
    decision = add_decision(stage.sentence, user).pk if user and who != "owner" else stage.things["decision_id"]
    # Whoever asked for a file has it to herself.
    export = add_export(study, user).pk if user and find_role(user, study) else stage.things["export_id"]
    wrong = {}
    for name, row in OF_A_STUDY.items():
        path = stage.path(
            name,
            coding_id=own.pk,
            idempotency_key=own.idempotency_key.hex,
            memo_id=memo,
            decision_id=decision,
            export_id=export,
        )
        for method in row:
            with undone(), writes_seen() as written:
                answer = visitor.knock(path, method, FORMS.get(name, ""))
            if problem := what_is_wrong(who, name, method, answer, written):
                wrong[f"{method} {name}"] = problem
    assert wrong == {}


def test_other_methods_are_refused(stage, owner):
    visitor = Visitor(owner)
    for name, row in OF_A_STUDY.items():
        for method in {"GET", "POST"} - row.keys():
            assert visitor.knock(stage.path(name), method).status_code == 405, f"{method} {name}"


def test_things_of_another_study_are_not_found(stage, foreign_stage, owner):
    visitor = Visitor(owner)
    wrong = {}
    for name, row in OF_A_STUDY.items():
        for hole in ADDRESSES[name].holes - {"slug", "number", "older", "what", "format", "wording", "mapping"}:
            path = stage.path(name, **{hole: foreign_stage.find(name, hole)})
            for method in row:
                with undone(), writes_seen() as written:
                    answer = visitor.knock(path, method)
                if answer.status_code != 404 or written:
                    wrong[f"{method} {name} with {hole}"] = f"{answer.status_code}, wrote {written}"
    assert wrong == {}


@pytest.mark.full
def test_things_that_are_nowhere_are_not_found(stage, owner):
    visitor = Visitor(owner)
    wrong = {}
    for name, row in OF_A_STUDY.items():
        for hole in [hole for hole in ADDRESSES[name].holes if hole.endswith("_id")]:
            for method in row:
                for number in (999_999, 10**18, 10**30):
                    answer = visitor.knock(stage.path(name, **{hole: number}), method)
                    if answer.status_code != 404:
                        wrong[f"{method} {name} with {hole}={number}"] = answer.status_code
    assert wrong == {}


def test_nothing_is_taken_without_a_form_token_and_the_api_takes_no_session(stage, owner):
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    for name in OF_A_STUDY:
        with writes_seen() as written:
            answer = client.post(stage.path(name))
        assert answer.status_code == (401 if name.startswith("api:") else 403), name
        assert not written, name


@pytest.mark.full
def test_owner_of_the_site_may_do_everything_in_every_study(stage):
    root = User.objects.create(username="root", is_superuser=True)
    visitor, own = Visitor(root), add_coding(stage.sentence, stage.version, root)
    study = stage.sentence.turn.interview.owning_study
    decision, memo = add_decision(stage.sentence, root).pk, add_memo(study, root).pk
    export = add_export(study, root).pk
    wrong = {}
    for name, row in OF_A_STUDY.items():
        for method in row:
            with undone():
                key = own.idempotency_key.hex
                others = {"decision_id": decision, "memo_id": memo, "export_id": export}
                path = stage.path(name, coding_id=own.pk, idempotency_key=key, **others)
                answer = visitor.knock(path, method, FORMS.get(name, ""))
            if problem := what_is_wrong("owner", name, method, answer, []):
                wrong[f"{method} {name}"] = problem
    assert wrong == {}


def test_open_pages_answer_strangers_and_looking_changes_nothing(db):
    for name in OPEN_TO_ALL:
        with writes_seen() as written:
            answer = Visitor(None).knock(reverse(name, kwargs=dict.fromkeys(ADDRESSES[name].holes, "x")), "GET")
        assert answer.status_code == {"accounts:use_link": 410, "help_page": 404, "mfa_authenticate": 302}.get(
            name, 200
        ), name
        assert not written, name


def test_other_pages_ask_strangers_to_sign_in_and_looking_changes_nothing(owner):
    nobody, somebody = Visitor(None), Visitor(owner)
    for name in OF_A_PERSON | OF_THE_SITE_OWNER:
        path = reverse(name, kwargs=dict.fromkeys(ADDRESSES[name].holes, 1))
        for method in ("GET", "POST"):
            with writes_seen() as written:
                answer = nobody.knock(path, method)
            assert answer.status_code == 302, f"{method} {name}"
            assert answer["Location"].startswith(SIGN_IN), f"{method} {name}"
            assert not written, f"{method} {name}"
        with writes_seen() as written:
            answer = somebody.knock(path, "GET")
        assert answer.status_code in {200, 403, 404, 405} or name in {"studies:land", "old_address"}, name
        assert "no-store" in answer["Cache-Control"], name
        # The secret to be confirmed is new each time, and waits in the session.
        assert not written or name == "mfa_activate_totp", name


def test_api_gives_strangers_nothing_and_looking_changes_nothing(owner):
    for path in ("/api/v1/studies/", "/api/v1/schema/", "/api/v1/", "/api/v1/nothing/"):
        with writes_seen() as written:
            assert Visitor(None).knock(path, "GET").status_code == 401, path
        assert not written, path
        visitor = Visitor(owner)
        with writes_seen() as written:
            assert visitor.knock(path, "GET").status_code in {200, 404}, path
        assert not written, path


def test_pages_of_the_site_owner_are_for_nobody_else(owner, lead):
    for visitor in (Visitor(owner), Visitor(lead)):
        for name in OF_THE_SITE_OWNER:
            path = reverse(name, kwargs=dict.fromkeys(ADDRESSES[name].holes, 1))
            for method in ("GET", "POST"):
                with writes_seen() as written:
                    assert visitor.knock(path, method).status_code in {403, 404}, name
                assert not written, name
