from __future__ import annotations

from django.urls import include, path

from auditapp.benchmarks.scenarios.views import plays, runs

app_name = "scenarios"

play = [
    path("", plays.show_play, name="play"),
    path("talk/", plays.poll_talk, name="talk"),
    path("ask/", plays.ask_next, name="ask"),
    path("warn/", plays.warn, name="warn"),
    path("turns/<int:number>/again/", plays.send_again, name="ask_again"),
    path("turns/<int:number>/give-up/", plays.stop_waiting, name="give_up"),
    path("turns/<int:number>/branch/", plays.branch, name="branch"),
    path("close/", plays.close, name="close"),
    path("discard/", plays.discard, name="discard"),
]

script_urls = [
    path("", plays.show_scripts, name="scripts"),
    path("new/", plays.write_new, name="new_script"),
    path("<int:script_id>/next/", plays.write_next, name="next_script"),
]

suite_urls = [
    # /p/<slug>/scenarios/
    path("p/<slug:slug>/scenarios/", runs.show_suites, name="suites"),
    path("p/<slug:slug>/scenarios/load/", runs.load, name="load_suite"),
    path("p/<slug:slug>/scenarios/load/shipped/", runs.load_shipped, name="load_shipped"),
    path("p/<slug:slug>/scenarios/suite/", runs.show_suite, name="suite"),
    path("p/<slug:slug>/scenarios/launch/", runs.launch, name="launch"),
    path("p/<slug:slug>/scenarios/batches/<int:batch_id>/", runs.show_run, name="run"),
    path(
        "p/<slug:slug>/scenarios/batches/<int:batch_id>/files/<slug:what>.<slug:format>", runs.download, name="run_file"
    ),
]

urlpatterns = [
    *suite_urls,
    # /p/<slug>/interviews-held/
    path("p/<slug:slug>/interviews-held/", plays.list_plays, name="plays"),
    path("p/<slug:slug>/interviews-held/open/", plays.open_new, name="open_play"),
    path("p/<slug:slug>/interviews-held/<int:play_id>/", include(play)),
    path("p/<slug:slug>/interview-scripts/", include(script_urls)),
]
