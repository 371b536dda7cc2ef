"""Screens of pre-annotation."""
