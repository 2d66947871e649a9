"""RLX, a compiler and a distributed runtime for neural networks: the module and the command."""
