"""Training: one loop that gives events, and what it is made of."""
