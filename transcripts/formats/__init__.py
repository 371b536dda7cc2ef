"""File formats for import and export, in plain Python."""
