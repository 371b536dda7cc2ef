"""Backup and restore of a whole site, and a check of everything that it needs."""
