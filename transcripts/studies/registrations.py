"""What memberships contribute when an account is closed."""

from __future__ import annotations

from transcripts.hooks import account_closing, closing_checked, closing_reviewed, on
from transcripts.studies.queries import close, find_obstacles, list_notes

on(closing_checked, find_obstacles)
on(closing_reviewed, list_notes)
on(account_closing, close)
