"""Pages of batches: launching one, watching it, steering it, and looking into every paid try."""
