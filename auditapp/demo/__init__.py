"""The demo study: invented interviews, codings, suggestions and a benchmark batch."""

SLUG = "demo"
