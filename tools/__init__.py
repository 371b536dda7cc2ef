"""What `make` runs: set up, start, test. Nothing here needs more than the standard library."""
