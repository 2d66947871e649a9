"""The light client of RLX: all that a program needs to ask for an inference."""
