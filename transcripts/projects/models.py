"""Studies and who belongs to them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse

from transcripts.projects.roles import ROLE_CHOICES, ROLES, Role


class Project(models.Model):
    """A study: every text, code, coding and batch belongs to one, and is reached through it."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField()
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="projects")

    class Meta:
        ordering: ClassVar = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("projects:home", args=[self.slug])


class Membership(models.Model):
    """One person's role in one study."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=ROLE_CHOICES)
    joined_at = models.DateTimeField()
    # The account was made by the invitation to this study: only then may its owner make the newcomer another link.
    came_by_invitation = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "user"], name="%(app_label)s_%(class)s_one_role_per_person"),
            models.CheckConstraint(
                condition=models.Q(role__in=list(ROLES)), name="%(app_label)s_%(class)s_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} as {self.role}"

    def get_role(self) -> Role:
        return ROLES[self.role]
