"""What people type about studies and codebooks."""
