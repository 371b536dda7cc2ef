"""Pages of agreement, of disagreements, and of what was decided about them."""
