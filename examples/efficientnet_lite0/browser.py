"""The network in a web page: `python -m examples.efficientnet_lite0.browser` compiles it to WebAssembly and serves it.

The page needs nothing of the server but its files: any static host will do.
"""

import argparse
import contextlib
import shutil
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rlx_compiler import CompileOptions, compile_source

from .convert import FOLDER, convert

HERE = Path(__file__).parent


class Handler(SimpleHTTPRequestHandler):
    """The files of a folder; what a page posts goes to `report`."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript", ".wasm": "application/wasm"}

    def __init__(self, *arguments: object, report: Callable[[bytes], None], **options: object) -> None:
        self.report = report
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def do_POST(self) -> None:
        self.report(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody reads a line for each file."""


def build(folder: Path, target: str = "wasm") -> Path:
    """The page with its bundle in `folder`."""
    shutil.copytree(HERE / "page", folder, dirs_exist_ok=True)
    shutil.copy(HERE / "labels.txt", folder)
    compile_source(convert(), CompileOptions(target), folder / "bundle")
    return folder


def serve(folder: Path, port: int = 0, report: Callable[[bytes], None] = print) -> ThreadingHTTPServer:
    """A server of the folder on this machine's own address, which the caller runs and closes; 0 takes a free port."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=str(folder), report=report))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--target", default="wasm", help="wasm, or wasm:relaxed-simd")
    arguments = parser.parse_args()
    with serve(build(FOLDER / "page", arguments.target), arguments.port) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
