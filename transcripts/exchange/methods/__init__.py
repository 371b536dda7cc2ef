"""What the record says of how a study was done: the methods paragraph, what speaks against it, and the audit annex."""
