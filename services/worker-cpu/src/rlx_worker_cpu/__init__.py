"""A compile worker and a node for CPUs, as two processes of one image."""
