from __future__ import annotations

from django.urls import include, path

from auditapp.scenarios.views import plays, scripts

app_name = "scenarios"

play = [
    path("", plays.show_play, name="play"),
    path("talk/", plays.poll_talk, name="talk"),
    path("ask/", plays.ask_next, name="ask"),
    path("warn/", plays.warn, name="warn"),
    path("turns/<int:number>/again/", plays.send_again, name="ask_again"),
    path("turns/<int:number>/branch/", plays.branch, name="branch"),
    path("close/", plays.close, name="close"),
    path("discard/", plays.discard, name="discard"),
]

script_urls = [
    path("", scripts.show_scripts, name="scripts"),
    path("new/", scripts.write_new, name="new_script"),
    path("<int:script_id>/next/", scripts.write_next, name="next_script"),
]

urlpatterns = [
    # /p/<slug>/interviews-held/
    path("p/<slug:slug>/interviews-held/", plays.list_plays, name="plays"),
    path("p/<slug:slug>/interviews-held/open/", plays.open_new, name="open_play"),
    path("p/<slug:slug>/interviews-held/<int:play_id>/", include(play)),
    path("p/<slug:slug>/interview-scripts/", include(script_urls)),
]
