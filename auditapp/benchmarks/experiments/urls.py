from __future__ import annotations

from django.urls import path

from auditapp.benchmarks.experiments import views

app_name = "experiments"

urlpatterns = [
    path("studies/<slug:slug>/experiments/", views.show_list, name="list"),
    path("studies/<slug:slug>/experiments/<int:experiment_id>/", views.show, name="show"),
    path("studies/<slug:slug>/experiments/<int:experiment_id>/units/", views.load, name="load"),
    path("studies/<slug:slug>/experiments/<int:experiment_id>/draw/", views.draw, name="draw"),
    path("studies/<slug:slug>/experiments/<int:experiment_id>/sample/", views.list_sample, name="sample"),
    path("studies/<slug:slug>/experiments/<int:experiment_id>/figures/<slug:format>/", views.download, name="download"),
]
