"""What pages, commands and the API read about batches."""
