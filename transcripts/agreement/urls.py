from __future__ import annotations

from django.urls import path

from transcripts.agreement.views import adjudication, tables

app_name = "agreement"

urlpatterns = [
    # /p/<slug>/disagreements/
    path("p/<slug:slug>/disagreements/", adjudication.show_disagreements, name="disagreements"),
    # /p/<slug>/agreement/
    path("p/<slug:slug>/agreement/", tables.show_table, name="table"),
    path("p/<slug:slug>/agreement/so-far/", tables.show_so_far, name="so_far"),
    path("p/<slug:slug>/agreement/compute/", tables.compute, name="compute"),
    path("p/<slug:slug>/agreement/download/", tables.download, name="download"),
    path("p/<slug:slug>/agreement/units/", tables.list_units, name="units"),
    # /p/<slug>/adjudication/
    path("p/<slug:slug>/adjudication/", adjudication.show_queue, name="queue"),
    path("p/<slug:slug>/adjudication/decide/", adjudication.adjudicate, name="adjudicate"),
]
