"""Experiments in deployment: a locked plan, the assigned units with their outcomes, and a sample of their threads to be read."""

from __future__ import annotations

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from transcripts.studies.models import Study


class Experiment(models.Model):
    """A comparison of two systems in deployment; paper 001, Table 4B. ``plan`` is the locked plan as it is written to files; it
    never changes, and ``sha256`` is its hash. Outcomes are loaded only afterwards."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="experiments")
    name = models.CharField(max_length=100, help_text="Name of the experiment, as reports call it. It never changes.")
    plan = models.JSONField(help_text="The plan as docs/reference/formats.md describes it.")
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the plan.")
    locked_at = models.DateTimeField(help_text="When the plan was locked, in UTC.")
    locked_by_name = models.CharField(max_length=200, help_text="Who locked it.")
    locked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="experiments"
    )

    class Meta:
        ordering: ClassVar = ["study", "name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class EnrolmentQuerySet(models.QuerySet["Enrolment"]):
    """Which enrolments count."""

    def current(self) -> Self:
        """The rows that no later file has replaced with more outcomes."""
        return self.filter(is_current=True)


class Enrolment(models.Model):
    """The assignment of a unit (a user, a request) to an arm, with the known outcomes: {name of an outcome: true or false, or a
    number if the plan says so}.

    If an outcome arrives later, the unit gets a new row, and the previous row is no longer current; known outcomes never change.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT, related_name="enrolments")
    unit = models.CharField(max_length=200, help_text="Id of the unit; its thread has the same id in its file.")
    arm = models.CharField(max_length=100, help_text="The arm it was assigned to.")
    group = models.CharField(max_length=200, blank=True, help_text="Its group, where there are groups.")
    outcomes = models.JSONField(default=dict, blank=True)
    is_current = models.BooleanField(default=True)
    loaded_at = models.DateTimeField(help_text="When it was loaded, or an outcome was added, in UTC.")

    objects = EnrolmentQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["experiment", "unit"], condition=Q(is_current=True), name="%(app_label)s_%(class)s_current_once"
            )
        ]

    def __str__(self) -> str:
        return f"enrolment {self.pk}"


class SampledUnit(models.Model):
    """A unit that was drawn for the audit; its thread is imported masked and read like any other. ``place`` is its position in the
    list of units to be fetched, which is random so that the list reveals nothing about the arms."""

    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT, related_name="sampled")
    unit = models.CharField(max_length=200)
    arm = models.CharField(max_length=100)
    place = models.PositiveIntegerField()
    seed = models.PositiveIntegerField()
    drawn_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["experiment", "place"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "unit"], name="%(app_label)s_%(class)s_once"),
            models.UniqueConstraint(fields=["experiment", "place"], name="%(app_label)s_%(class)s_place_once"),
        ]

    def __str__(self) -> str:
        return f"place {self.place} of the sample of experiment {self.experiment_id}"
