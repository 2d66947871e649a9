"""The RLX language: types, ops, parser, printer, verifier and interpreter."""
