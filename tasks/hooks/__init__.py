"""Hooks of agents: what they tell, what they are answered, and how they are wired."""
