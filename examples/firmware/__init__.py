"""A network as firmware: handwritten digits on a Cortex-M4 without an operating system, in QEMU.

`python -m examples.firmware` trains a small network on scikit-learn's digits, compiles it to freestanding C, links it
with a start-up file and no library, and lets the board classify camera-sized pictures that it scales down itself.
"""
