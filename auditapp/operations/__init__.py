"""Backup and restore of a whole site, and checks of everything that a site needs."""
