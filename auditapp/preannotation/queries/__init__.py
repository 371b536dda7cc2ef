"""Reads of machine work."""
