"""Kernels of Triton: read on traced arrays, for every block; and run on NumPy where Triton is not installed."""
