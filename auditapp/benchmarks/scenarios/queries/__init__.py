"""Queries about scripts, sessions and what was said in them."""
