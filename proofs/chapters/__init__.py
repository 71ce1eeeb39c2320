"""The theorems, a chapter a file."""
