"""The Global State Service: who is there, with what, and how loaded."""
