from __future__ import annotations

from django.urls import include, path

from auditapp.webhooks import views

app_name = "webhooks"

webhook = [
    path("", views.show_webhook, name="webhook"),
    path("test/", views.send_test, name="test"),
    path("turn-off/", views.turn_off, name="turn_off"),
]

urlpatterns = [
    # /studies/<slug>/webhooks/
    path("studies/<slug:slug>/webhooks/", views.list_webhooks, name="list"),
    path("studies/<slug:slug>/webhooks/add/", views.add_webhook, name="add"),
    path("studies/<slug:slug>/webhooks/<int:webhook_id>/", include(webhook)),
]
