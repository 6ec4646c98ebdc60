"""Sequence-to-sequence models with attention, trained on your own pairs, that you can look inside."""
