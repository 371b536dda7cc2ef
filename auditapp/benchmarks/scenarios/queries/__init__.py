"""Reads of scripts, sessions and what was said in them."""
