"""RLX beside its peers, measured in pairs: `make bench`."""
