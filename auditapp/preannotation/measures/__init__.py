"""Arithmetic of pre-annotation: no Django, no database."""
