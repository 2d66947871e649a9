"""Which CPU a job is for when it names none."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from rlx_compile_api.levels import common_level, levels_from_gss


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([], None),
        (["x86-64-v4"], "x86-64-v4"),
        (["x86-64-v4", "x86-64-v2", "x86-64-v3"], "x86-64-v2"),
        (["x86-64-v3", "armv8-a"], None),
        (["unheard-of"], None),
        (["unheard-of", "x86-64-v3"], "x86-64-v3"),
    ],
)
def test_the_common_level_is_what_all_have(levels: list[str], expected: str | None) -> None:
    assert common_level(levels) == expected


def node(name: str, cpu: str, liveness: str = "alive", targets: tuple[str, ...] = ("llvm",)) -> dict[str, object]:
    record = {
        "id": name,
        "incarnation": 1,
        "addresses": {"http": "http://127.0.0.1:1"},
        "capabilities": {"cpu": cpu},
        "devices": [{"kind": "cpu", "index": 0, "name": "cpu", "targets": targets}],
    }
    return {"record": record, "liveness": liveness, "age_ms": 0}


@pytest.fixture
def gss() -> Iterator[tuple[str, list[dict[str, object]]]]:
    nodes: list[dict[str, object]] = []

    class Gss(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"version": 1, "epoch": "e", "nodes": nodes}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gss)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", nodes
    server.shutdown()
    thread.join()
    server.server_close()


def test_nodes_that_run_something_and_are_not_down_are_asked_for(
    gss: tuple[str, list[dict[str, object]]],
) -> None:
    url, nodes = gss
    with httpx.Client(base_url=url) as http:
        choose = levels_from_gss(http, "x86-64-v3")
        assert choose() == "x86-64-v3", "no node yet"
        nodes.append(node("a", "x86-64-v4"))
        assert choose() == "x86-64-v4"
        nodes += [node("b", "x86-64", "down"), node("c", "x86-64", targets=())]
        assert choose() == "x86-64-v4"
        nodes.append(node("d", "x86-64-v2", "suspect"))
        assert choose() == "x86-64-v2"


def test_a_gss_that_does_not_answer_costs_no_job() -> None:
    with httpx.Client(base_url="http://127.0.0.1:1") as http:
        assert levels_from_gss(http, "x86-64-v3")() == "x86-64-v3"
