"""Pairs of texts: read, encoded, ordered and batched."""
