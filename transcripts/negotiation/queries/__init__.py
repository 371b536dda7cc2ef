"""Queries about negotiation."""
