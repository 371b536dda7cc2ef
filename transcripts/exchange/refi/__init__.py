"""A study as a REFI-QDA project file, out and in."""
