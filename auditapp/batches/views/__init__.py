"""Pages of batches: launch one, watch it, control it, and inspect every paid attempt."""
