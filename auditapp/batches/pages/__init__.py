"""The information about batches that pages, commands and the API show."""
