"""What each kind of file that leaves the site is called in the answer that sends it."""

from __future__ import annotations

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "qdc": "application/xml",
    "qdpx": "application/zip",
    "svg": "image/svg+xml; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "zip": "application/zip",
}
"""By the ending of a file's name."""
