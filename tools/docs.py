"""The part of the documentation that the code writes: a hook of MkDocs (`make docs`).

Whole pages (ops, commands, HTTP, configuration, errors) are made here, and `<!-- table: NAME -->` in a written page is
replaced by a table. Nothing of it is committed, so nothing of it can be out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

# MkDocs loads a hook by its path; its neighbours are found from the root of the repository.
sys.path.insert(0, str(Path(__file__).parents[1]))

import re
from collections.abc import Callable
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools import docs_commands, docs_http, docs_language, docs_settings

__all__ = ["on_files", "on_page_markdown"]

PAGES: Final[dict[str, Callable[[], str]]] = {
    "reference/ops.md": docs_language.ops,
    "reference/errors.md": docs_language.errors,
    "reference/cli.md": docs_commands.page,
    "reference/http.md": docs_http.page,
    "reference/configuration.md": docs_settings.page,
}
TABLES: Final[dict[str, Callable[[], str]]] = {
    "constants": docs_language.constants,
    "dtypes": docs_language.dtypes,
    "limits": docs_language.limits,
    "locations": docs_language.locations,
    "operators": docs_language.operators,
    "later": docs_language.later,
    "numpy": docs_language.numpy_functions,
}
_TABLE: Final = re.compile(r"<!-- table: ([a-z]+) -->")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, write in PAGES.items():
        files.append(File.generated(config, name, content=write()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return with_tables(markdown)


def with_tables(markdown: str) -> str:
    """A written page with its tables filled in."""
    return _TABLE.sub(lambda found: TABLES[found[1]](), markdown)
