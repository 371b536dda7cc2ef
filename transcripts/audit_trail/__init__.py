"""Who did what, when: an append-only record, in the lowest room."""
