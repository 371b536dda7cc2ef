from __future__ import annotations

from django.urls import include, path

from auditapp.llm import views

app_name = "llm"

account = [
    path("", views.show_account, name="account"),
    path("address/", views.change_address, name="change_address"),
    path("key/", views.set_key, name="set_key"),
    path("key/forget/", views.forget_key, name="forget_key"),
    path("key/variable/", views.set_key_env, name="set_key_env"),
]

model = [
    path("", views.show_model, name="model"),
    path("prices/", views.set_price, name="set_price"),
    path("capabilities/", views.set_capabilities, name="set_capabilities"),
    path("probe/", views.probe, name="probe"),
]

urlpatterns = [
    path("models/", views.list_models, name="models"),
    path("models/<int:variant_id>/", include(model)),
    path("models/accounts/<int:account_id>/", include(account)),
    path("studies/<slug:slug>/judges/", views.list_judges, name="judges"),
    path("studies/<slug:slug>/judges/<int:variant_id>/", views.show_judge, name="judge"),
    path("models/addresses/", views.list_addresses, name="addresses"),
    path("models/addresses/<int:address_id>/remove/", views.disallow_address, name="disallow_address"),
]
