"""The inputs a norm is tried on, and what it returns for them."""
