"""Theorems about LayerNorm and RMSNorm, their proofs, and the ledger of claims."""
