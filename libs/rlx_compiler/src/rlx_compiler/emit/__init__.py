"""From the loop IR to a target's text. An emitter translates node by node; every decision has been taken before it."""
