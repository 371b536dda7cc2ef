"""Addresses, names and keys as text. No module here knows of Django or the database."""
