"""Arithmetic that several rooms use: intervals, tests, resampling, agreement. Nothing here knows of Django."""
