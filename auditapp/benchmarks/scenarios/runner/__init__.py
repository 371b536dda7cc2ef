"""What a worker does for plays."""
