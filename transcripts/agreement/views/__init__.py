"""Pages on how people read: agreement, where they read differently, and what was decided about it."""
