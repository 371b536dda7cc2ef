from __future__ import annotations

from django.urls import include, path

from auditapp.batches.views import controls, pages

app_name = "batches"

batch_urls = [
    # /studies/<slug>/batches/<id>/
    path("", pages.show_batch, name="detail"),
    path("spend/", pages.show_spend, name="spend"),
    path("spend/file/", pages.download_spend, name="spend_file"),
    path("control/", controls.control_batch, name="control"),
    path("end/", controls.end_batch, name="end"),
    path("jobs/<int:job_id>/end/", controls.end_job, name="end_job"),
    path("confirm/", controls.confirm_batch, name="confirm"),
    path("concurrency/", controls.change_concurrency, name="concurrency"),
    path("name/", controls.rename_batch, name="rename"),
    path("cap/", controls.change_cap, name="cap"),
    path("retry/", controls.retry_failed, name="retry"),
    path("held/", controls.release_held, name="held"),
    path("requests/", controls.download_requests, name="requests"),
    path("answers/", controls.import_answer_file, name="answers"),
    path("attempts/", pages.list_attempts, name="attempts"),
    path("attempts/<int:attempt_id>/", pages.show_attempt, name="attempt"),
]

urlpatterns = [
    # /models/accounts/<id>/grants/
    path("models/accounts/<int:account_id>/grants/", controls.grant_account, name="account_grants"),
    path("models/accounts/<int:account_id>/grants/revoke/", controls.revoke, name="revoke_grant"),
    # /studies/<slug>/grants/
    path("studies/<slug:slug>/grants/", controls.show_grants, name="grants"),
    # /studies/<slug>/batches/
    path("studies/<slug:slug>/batches/", pages.list_batches, name="list"),
    path("studies/<slug:slug>/batches/<int:batch_id>/", include(batch_urls)),
]
