from __future__ import annotations

from django.urls import path

from transcripts.revision import views

app_name = "revision"

urlpatterns = [
    # /p/<slug>/codebook/
    path("p/<slug:slug>/codebook/v<int:older>..v<int:number>/effects/", views.show_effects, name="effects"),
    path("p/<slug:slug>/codebook/v<int:number>/carry/", views.carry, name="carry"),
    path("p/<slug:slug>/codebook/v<int:number>/take-back/", views.take_back, name="take_back"),
    # /p/<slug>/relook/
    path("p/<slug:slug>/relook/", views.show_queue, name="queue"),
    path("p/<slug:slug>/relook/<int:coding_id>/", views.look_again, name="look"),
    # /p/<slug>/anchors/
    path("p/<slug:slug>/anchors/", views.list_anchors, name="anchors"),
    path("p/<slug:slug>/anchors/draw/", views.draw, name="draw"),
    path("p/<slug:slug>/anchors/add/", views.add, name="add"),
    path("p/<slug:slug>/anchors/<int:anchor_id>/remove/", views.remove, name="remove"),
    path("p/<slug:slug>/anchors/read/", views.read, name="read"),
]
