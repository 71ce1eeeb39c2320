"""The commands of the proofs, one module each."""
