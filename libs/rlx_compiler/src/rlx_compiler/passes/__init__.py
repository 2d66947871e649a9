"""Passes over a module that know the target; those that do not are in `rlx_ir.passes`."""
