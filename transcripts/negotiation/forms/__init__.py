"""What people type in the room."""
