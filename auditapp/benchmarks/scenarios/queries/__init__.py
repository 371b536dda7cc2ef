"""Reads of scripts, plays and what was said in them."""
