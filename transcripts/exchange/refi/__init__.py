"""Export and import of a study as a REFI-QDA project file."""
