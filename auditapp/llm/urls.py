from __future__ import annotations

from django.urls import path

from auditapp.llm import views

app_name = "llm"

urlpatterns = [path("models/", views.list_models, name="models")]
