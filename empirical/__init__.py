"""Measurement of language models: corpora, capture, statistics, the sweep and its report."""
