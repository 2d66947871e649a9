"""Every snippet of the documentation and of the README is run, page by page, each page in a folder of its own.

`rlx` is parsed; with `title="FILE"` any snippet is written there; with `error="CODE"` it must fail so. `bash` is run,
`bash background` runs until the page ends; `python` sees what the page's Python before it did.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rlx.stack import Ports
from rlx_base.errors import RlxError
from rlx_ir import verify
from rlx_ir.text import parse

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<kind>\w+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
STARTED = re.compile(r"RLX Runtime started|RLX is up")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Snippet:
    kind: str
    options: str
    body: str

    def option(self, name: str) -> str | None:
        found = re.search(rf'{name}="([^"]*)"', self.options)
        return found[1] if found else None


def snippets(page: Path) -> list[Snippet]:
    return [Snippet(**found.groupdict()) for found in FENCE.finditer(page.read_text(encoding="utf-8"))]


class Page:
    """Where a page's snippets run. The ports that a page names are free ones here."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self._ports = Ports.free()
        self._names = {":8000": f":{self._ports.api}", ":8080": f":{self._ports.node}"}
        self._environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": ".",
            "RLX_CACHE_DIR": str(folder / "cache"),
            "RLX_ENDPOINT": f"http://127.0.0.1:{self._ports.api}",
        }
        self._python = ""

    def run(self, snippet: Snippet) -> None:
        body = snippet.body
        for written, here in self._names.items():
            body = body.replace(written, here)
        title, error = snippet.option("title"), snippet.option("error")
        if title is not None:
            path = self.folder / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        match snippet.kind:
            case "rlx" if error is not None:
                with pytest.raises(RlxError, match=error):
                    verify(parse(body))
            case "rlx":
                verify(parse(body))
            case "python" if title is None:
                self._run_python(body, error)
            case "bash" if "background" in snippet.options:
                self._stack.enter_context(self._background(body))
            case "bash":
                self._run_bash(body)

    def _run_bash(self, body: str) -> None:
        script = f"set -e\ncd {self.folder}\n{body}\npwd >{self.folder.parent}/folder"
        answer = self._ran(["bash", "-c", script], self._environment)
        assert answer.returncode == 0, answer.stderr
        self.folder = Path((self.folder.parent / "folder").read_text().strip())  # `cd` holds for what follows

    def _run_python(self, body: str, error: str | None) -> None:
        """All Python of the page so far, in a file, since what is decorated must have a source."""
        path = self.folder / "page.py"
        path.write_text(self._python + body, encoding="utf-8")
        answer = self._ran([sys.executable, "-W", "error", str(path)], self._environment)
        if error is None:
            self._python += body
            assert answer.returncode == 0, answer.stderr
        else:
            assert answer.returncode == 1
            assert error in answer.stderr

    def _ran(self, command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=240
        )

    @contextmanager
    def _background(self, body: str) -> Iterator[None]:
        body = body.strip()
        environment = dict(self._environment)
        if body.startswith("rlx up"):
            for name, port in self._ports.model_dump().items():
                body += f" --{name}-port {port}"
        else:
            environment["RLX_BIND_ADDR"] = f"127.0.0.1:{self._ports.node}"
        process = subprocess.Popen(
            ["bash", "-c", f"exec {body}"], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            assert any(STARTED.search(line) for line in process.stdout), f"{body} ended"
            draining = threading.Thread(target=process.stdout.read)
            draining.start()
            yield
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            draining.join()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_snippet_runs(page: Path, tmp_path: Path) -> None:
    if any("curl" in snippet.body for snippet in snippets(page)) and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "examples").symlink_to(ROOT / "examples")
    with ExitStack() as stack:
        place = Page(tmp_path / "page", stack)
        for snippet in snippets(page):
            place.run(snippet)


def test_a_snippet_of_no_known_kind_would_be_seen() -> None:
    kinds = {snippet.kind for page in PAGES for snippet in snippets(page)}
    assert kinds <= {"rlx", "python", "bash", "text"}


def test_the_site_is_built_with_all_that_the_code_gives(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, textwrap.shorten(answer.stderr, 2000)
    site = tmp_path / "site"
    assert 'id="RLX-E101"' in (site / "reference/errors.html").read_text()
    assert 'id="conv2d"' in (site / "reference/ops.html").read_text()
    assert "rlx profile-viewer" in (site / "reference/cli.html").read_text()
    assert "/v1/models/{name}/versions" in (site / "reference/http.html").read_text()
    assert "<!-- table" not in (site / "reference/language.html").read_text()
