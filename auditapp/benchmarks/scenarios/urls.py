from __future__ import annotations

from django.urls import include, path

from auditapp.benchmarks.scenarios.views import runs, sessions

app_name = "scenarios"

session = [
    path("", sessions.show_session, name="session"),
    path("talk/", sessions.poll_talk, name="talk"),
    path("ask/", sessions.ask_next, name="ask"),
    path("warn/", sessions.warn, name="warn"),
    path("turns/<int:number>/again/", sessions.send_again, name="ask_again"),
    path("turns/<int:number>/give-up/", sessions.stop_waiting, name="give_up"),
    path("turns/<int:number>/branch/", sessions.branch, name="branch"),
    path("close/", sessions.close, name="close"),
    path("discard/", sessions.discard, name="discard"),
]

script_urls = [
    path("", sessions.show_scripts, name="scripts"),
    path("new/", sessions.write_new, name="new_script"),
    path("<int:script_id>/next/", sessions.write_next, name="next_script"),
]

suite_urls = [
    # /studies/<slug>/scenarios/
    path("studies/<slug:slug>/scenarios/", runs.show_suites, name="suites"),
    path("studies/<slug:slug>/scenarios/load/", runs.load, name="load_suite"),
    path("studies/<slug:slug>/scenarios/load/shipped/", runs.load_shipped, name="load_shipped"),
    path("studies/<slug:slug>/scenarios/suite/", runs.show_suite, name="suite"),
    path("studies/<slug:slug>/scenarios/launch/", runs.launch, name="launch"),
    path("studies/<slug:slug>/scenarios/batches/<int:batch_id>/", runs.show_run, name="run"),
    path(
        "studies/<slug:slug>/scenarios/batches/<int:batch_id>/files/<slug:what>.<slug:format>",
        runs.download,
        name="run_file",
    ),
]

urlpatterns = [
    *suite_urls,
    # /studies/<slug>/live-interviews/
    path("studies/<slug:slug>/live-interviews/", sessions.list_sessions, name="sessions"),
    path("studies/<slug:slug>/live-interviews/open/", sessions.open_new, name="open_session"),
    path("studies/<slug:slug>/live-interviews/<int:session_id>/", include(session)),
    path("studies/<slug:slug>/interview-scripts/", include(script_urls)),
]
