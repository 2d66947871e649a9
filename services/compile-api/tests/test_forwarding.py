"""Inference passes through to the scheduler as it came, and comes back as it was answered."""

import gzip
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.compile_api import Api, problem
from tests.support.served import served


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body: bytes) -> None:
        self.send_response(418 if "teapot" in self.path else 200)
        sent = gzip.compress(body, mtime=0)
        for name, value in {
            "Content-Length": str(len(sent)),
            "Content-Encoding": "gzip",
            "Inference-Header-Content-Length": "7",
            "X-Path": self.path,
            "X-Authorization": self.headers.get("Authorization", ""),
            "X-Cookie": self.headers.get("Cookie", ""),
            "X-Origin": self.headers.get("Origin", ""),
            "X-Given": self.headers.get("Inference-Header-Content-Length", ""),
            "X-Request": self.headers.get("X-Request-Id", ""),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_request_passes_with_its_bytes_and_headers(start_api, echo: str) -> None:
    api: Api = start_api(scheduler_url=echo, api_key="secret")
    body = bytes(range(256)) * 100
    answer = api.client.post(
        "/v2/models/n%C3%A9t/infer?x=1",
        content=body,
        headers={"X-API-Key": "secret", "Inference-Header-Content-Length": "12", "Cookie": "a=b"},
    )
    assert answer.content == body
    assert answer.headers["x-path"] == "/v2/models/n%C3%A9t/infer?x=1"
    assert answer.headers["x-given"] == "12"
    assert answer.headers["inference-header-content-length"] == "7"
    assert answer.headers["x-authorization"] == "Bearer secret"
    assert answer.headers["x-cookie"] == ""
    assert answer.headers["x-request"] == answer.headers["x-request-id"]


def test_statuses_and_all_forwarded_routes(start_api, echo: str) -> None:
    api: Api = start_api(scheduler_url=echo, gss_url=echo)
    assert api.client.get("/v2/teapot").status_code == 418
    for method, path in (("GET", "/v2"), ("POST", "/v1/infer"), ("GET", "/v1/nodes"), ("GET", "/v2/health/ready")):
        answer = api.client.request(method, path)
        assert (answer.status_code, answer.headers["x-path"]) == (200, path)


@pytest.mark.parametrize("path", ["/v2/models/%2e%2e/%2e%2e/v1/nodes", "/v2/health/%2e/live", "/v2/%2e%2e"])
def test_a_path_that_climbs_is_not_passed_on(start_api, echo: str, path: str) -> None:
    api: Api = start_api(scheduler_url=echo)
    assert problem(api.client.get(path))["code"] == "RLX-E422"


def test_without_a_scheduler_the_answer_says_so_in_both_protocols(start_api) -> None:
    api: Api = start_api(scheduler_url="http://127.0.0.1:1")
    refusal = problem(api.client.post("/v2/models/m/infer", json={}))
    assert (refusal["status"], refusal["code"]) == (503, "RLX-E531")
    assert refusal["error"] == refusal["detail"]
    assert "http://127.0.0.1:1" in refusal["detail"]
    assert problem(api.client.get("/v1/nodes"))["status"] == 503


def test_a_body_over_the_limit_is_not_passed_on(start_api, echo: str) -> None:
    api: Api = start_api(scheduler_url=echo, max_inference_bytes=100)

    def stream() -> Iterator[bytes]:
        for _ in range(300):
            yield b"x" * 10

    assert problem(api.client.post("/v1/infer", content=stream()))["status"] == 413


def test_a_client_that_goes_away_frees_the_scheduler(start_api) -> None:
    heard, ended = threading.Event(), threading.Event()

    def scheduler(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            while not connection.recv(4096).endswith(b"body"):
                pass
            heard.set()
            connection.settimeout(10)
            assert connection.recv(1) == b"", "the request is ended"
            ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        api: Api = start_api(scheduler_url=f"http://127.0.0.1:{listening.getsockname()[1]}")
        thread = threading.Thread(target=scheduler, args=[listening])
        thread.start()
        with served(api.client.app) as url:
            port = int(url.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"POST /v1/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\nbody")
                assert heard.wait(10)
            assert ended.wait(10)
        thread.join()


def test_the_origin_of_the_page_is_judged_here_and_goes_no_further(start_api, echo: str) -> None:
    api: Api = start_api(scheduler_url=echo)
    own = api.client.post("/v1/infer", json={}, headers={"Origin": "http://127.0.0.1:8000"})
    assert (own.status_code, own.headers["x-origin"]) == (200, "")
    assert problem(api.client.post("/v1/infer", json={}, headers={"Origin": "http://elsewhere"}))["status"] == 403
