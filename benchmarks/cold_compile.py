"""One compilation in a fresh process: `python -m benchmarks.cold_compile SOURCE TARGET OUTPUT`, timed by its caller."""

import json
import sys
from pathlib import Path

from rlx_compiler import CompileOptions, compile_source


def main() -> None:
    source, target, output = sys.argv[1:]
    result = compile_source(Path(source), CompileOptions(target=target), Path(output))
    print(json.dumps({"bundle": str(result.directory), "seconds_by_phase": result.seconds_by_phase}))


if __name__ == "__main__":
    main()
