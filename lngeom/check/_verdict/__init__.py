"""The result of a check, as text and as JSON."""
