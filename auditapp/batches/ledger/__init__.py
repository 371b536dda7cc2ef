"""The ledger: claims, ends, money and the state of a batch. Every function is one transaction, or part of one."""
