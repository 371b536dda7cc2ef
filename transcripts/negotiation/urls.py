from __future__ import annotations

from django.urls import URLPattern

app_name = "negotiation"

urlpatterns: list[URLPattern] = []
