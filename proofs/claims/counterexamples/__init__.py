"""The counterexamples of the ledger, by subject; the smallest we know, worked in exact arithmetic."""
