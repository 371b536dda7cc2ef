"""What the room reads."""
