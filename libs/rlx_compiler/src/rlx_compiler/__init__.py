"""From meaning to code: passes, loop IR, schedules, emitters, targets and bundles."""
