"""Arithmetic, parsing and formats of this room: no Django, no database."""
