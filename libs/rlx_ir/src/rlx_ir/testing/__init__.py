"""Generated cases of every op, for the tests of every package. Needs `hypothesis`, which RLX itself does not."""
