"""One module a step, in order of their `revision`."""
