"""The compilers behind the targets, called as libraries or as programs."""
