"""Figures computed from the codings of threads: ledgers, sequences, episodes, pairs, scores. Does not import Django."""
