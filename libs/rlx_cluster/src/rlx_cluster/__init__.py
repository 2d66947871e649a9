"""Pure decisions of a cluster: placement, membership, credits and state machines, without I/O."""
