"""The formula that a norm's code computes in exact arithmetic, for every dimension: proved, certified, and executed."""
