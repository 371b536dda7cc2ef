"""The pages of themes: the themes themselves, what stands behind them, and the reflexive record."""
