"""What stops a command of the Makefile, in words for the person who typed it."""

from __future__ import annotations


class CannotGoOn(Exception):
    """One sentence or two: what was wrong, and what to do about it."""
