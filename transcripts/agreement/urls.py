from __future__ import annotations

from django.urls import path

from transcripts.agreement import views

app_name = "agreement"

urlpatterns = [
    # /studies/<slug>/disagreements/
    path("studies/<slug:slug>/disagreements/", views.show_disagreements, name="disagreements"),
    # /studies/<slug>/agreement/
    path("studies/<slug:slug>/agreement/", views.show_table, name="table"),
    path("studies/<slug:slug>/agreement/so-far/", views.show_so_far, name="so_far"),
    path("studies/<slug:slug>/agreement/compute/", views.compute, name="compute"),
    path("studies/<slug:slug>/agreement/download/", views.download, name="download"),
    path("studies/<slug:slug>/agreement/units/", views.list_units, name="units"),
    # /studies/<slug>/adjudication/
    path("studies/<slug:slug>/adjudication/", views.show_queue, name="queue"),
    path("studies/<slug:slug>/adjudication/decide/", views.adjudicate, name="adjudicate"),
]
