"""Every write of the room: case sheets, pairs, normative stances and scores. Each a transaction with its audit event."""
