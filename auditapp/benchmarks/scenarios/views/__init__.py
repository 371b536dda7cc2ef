"""Pages of scripts and of interviews held here."""
