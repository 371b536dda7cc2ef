from __future__ import annotations

from django.urls import path

from transcripts.revision import views

app_name = "revision"

urlpatterns = [
    # /studies/<slug>/codebook/
    path("studies/<slug:slug>/codebook/v<int:older>..v<int:number>/effects/", views.show_effects, name="effects"),
    path("studies/<slug:slug>/codebook/v<int:number>/migrate/", views.migrate, name="migrate"),
    path("studies/<slug:slug>/codebook/v<int:number>/undo-migration/", views.undo_migration, name="undo_migration"),
    # /studies/<slug>/re-review/
    path("studies/<slug:slug>/re-review/", views.show_queue, name="queue"),
    path("studies/<slug:slug>/re-review/<int:coding_id>/", views.re_review, name="re_review"),
    path("studies/<slug:slug>/re-review/near/", views.show_near, name="near"),
    # /studies/<slug>/anchors/
    path("studies/<slug:slug>/anchors/", views.list_anchors, name="anchors"),
    path("studies/<slug:slug>/anchors/draw/", views.draw, name="draw"),
    path("studies/<slug:slug>/anchors/add/", views.add, name="add"),
    path("studies/<slug:slug>/anchors/<int:anchor_id>/remove/", views.remove, name="remove"),
    path("studies/<slug:slug>/anchors/read/", views.read, name="read"),
]
