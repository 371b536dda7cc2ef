from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedSignupAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """People are added by `manage.py create_user` or a study's owner; nobody registers herself."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
