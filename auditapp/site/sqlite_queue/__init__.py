"""Django's backend for SQLite, with a queue for the writers of one process."""
