"""Forms of pre-annotation."""
