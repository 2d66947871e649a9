"""`python -m rlx_compile_api.openapi`: prints the description of the API that is committed beside the code."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from rlx_compile_api.app import create_app
from rlx_compile_api.settings import Settings

__all__ = ["main"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(create_app(Settings(data_folder=Path(folder))).openapi(), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
