"""`python -m rlx_gss.openapi`: prints the description of the API that is committed beside the code."""

from __future__ import annotations

import json

from rlx_gss.app import create_app
from rlx_gss.settings import GssSettings

__all__ = ["main"]


def main() -> None:
    print(json.dumps(create_app(GssSettings()).openapi(), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
