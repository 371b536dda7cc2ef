"""What people type to write scripts and to hold interviews."""
