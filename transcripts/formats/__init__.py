"""File formats of the exchange, in plain Python: rows in, text out, and back."""
