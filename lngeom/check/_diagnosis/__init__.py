"""Which known mistake explains wrong outputs; each hypothesis makes its own experiment."""
