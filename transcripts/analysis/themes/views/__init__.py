"""The pages of themes: the themes themselves, their evidence, and the reflexive record."""
