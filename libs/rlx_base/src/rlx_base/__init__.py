"""What every part of RLX shares: the error table, units, element types and the tolerance policy."""
