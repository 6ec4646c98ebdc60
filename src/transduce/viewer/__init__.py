"""Attention that one can see."""
