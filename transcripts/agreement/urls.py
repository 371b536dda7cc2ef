from __future__ import annotations

from django.urls import path

from transcripts.agreement.views import adjudication, tables

app_name = "agreement"

urlpatterns = [
    # /studies/<slug>/disagreements/
    path("studies/<slug:slug>/disagreements/", adjudication.show_disagreements, name="disagreements"),
    # /studies/<slug>/agreement/
    path("studies/<slug:slug>/agreement/", tables.show_table, name="table"),
    path("studies/<slug:slug>/agreement/so-far/", tables.show_so_far, name="so_far"),
    path("studies/<slug:slug>/agreement/compute/", tables.compute, name="compute"),
    path("studies/<slug:slug>/agreement/download/", tables.download, name="download"),
    path("studies/<slug:slug>/agreement/units/", tables.list_units, name="units"),
    # /studies/<slug>/adjudication/
    path("studies/<slug:slug>/adjudication/", adjudication.show_queue, name="queue"),
    path("studies/<slug:slug>/adjudication/decide/", adjudication.adjudicate, name="adjudicate"),
]
