"""`python -m rlx.cli` is the `rlx` command."""

from rlx.cli import main

main()
