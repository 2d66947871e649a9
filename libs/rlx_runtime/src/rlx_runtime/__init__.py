"""Running a bundle: devices, executor, thread team and profiler, without a compiler."""
