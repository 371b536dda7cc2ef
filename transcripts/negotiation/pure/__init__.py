"""What is computed from the codings of threads: ledgers, sequences, episodes, pairs, scores. Knows nothing of Django."""
