"""What ``make bench`` measures, beside its bars and beside figures of comparable systems (docs/performance.md)."""
