"""The result of a check, and its forms: text, JSON, JUnit, annotations."""
