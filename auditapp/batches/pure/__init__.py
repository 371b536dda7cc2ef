"""Arithmetic, formats and files without Django."""
