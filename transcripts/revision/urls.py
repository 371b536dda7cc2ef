from __future__ import annotations

from django.urls import path

from transcripts.revision import views

app_name = "revision"

urlpatterns = [
    # /p/<slug>/codebook/
    path("p/<slug:slug>/codebook/v<int:older>..v<int:number>/effects/", views.show_effects, name="effects"),
    path("p/<slug:slug>/codebook/v<int:number>/migrate/", views.migrate, name="migrate"),
    path("p/<slug:slug>/codebook/v<int:number>/undo-migration/", views.undo_migration, name="undo_migration"),
    # /p/<slug>/re-review/
    path("p/<slug:slug>/re-review/", views.show_queue, name="queue"),
    path("p/<slug:slug>/re-review/<int:coding_id>/", views.re_review, name="re_review"),
    path("p/<slug:slug>/re-review/near/", views.show_near, name="near"),
    # /p/<slug>/anchors/
    path("p/<slug:slug>/anchors/", views.list_anchors, name="anchors"),
    path("p/<slug:slug>/anchors/draw/", views.draw, name="draw"),
    path("p/<slug:slug>/anchors/add/", views.add, name="add"),
    path("p/<slug:slug>/anchors/<int:anchor_id>/remove/", views.remove, name="remove"),
    path("p/<slug:slug>/anchors/read/", views.read, name="read"),
]
