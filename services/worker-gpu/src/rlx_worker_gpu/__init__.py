"""A node for OpenCL, CUDA and other accelerators."""
