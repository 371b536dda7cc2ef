"""Pages of the codebook, and the one on which a study begins."""
