"""Who did what, when: an append-only record, the lowest room of the house."""
