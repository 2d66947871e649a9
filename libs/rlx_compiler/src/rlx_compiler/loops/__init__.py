"""Loop nests: the IR that every emitter reads, its text form, its interpreter, and the passes that prepare it."""
