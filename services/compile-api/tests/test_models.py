"""Uploads become versions; what does not hold together is refused and leaves nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.compile_api import Api, problem


def test_an_upload_is_a_version_and_the_same_program_is_the_same_version(api_on_both: Api) -> None:
    api = api_on_both
    files = [("model", ("net.rlx", b"text")), ("weights", ("net.safetensors", b"weights"))]
    answer = api.client.post("/v1/models/net/versions", files=files)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/models/net/versions/1"
    version = answer.json()
    assert [file["name"] for file in version["source"]] == ["net.rlx", "net.safetensors"]
    assert version["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, "n"]}]
    assert api.client.get(f"/v1/sources/{version['source'][1]['digest']}").content == b"weights"

    again = api.client.post("/v1/models/net/versions", files=files)
    assert (again.status_code, again.json()) == (200, version)
    assert api.upload("net", b"changed")["version"] == 2
    assert api.upload("other", b"text")["version"] == 1

    assert api.client.get("/v1/models/net").json()["latest_version"] == 2
    listed = api.client.get("/v1/models/net/versions").json()["items"]
    assert [one["version"] for one in listed] == [2, 1]
    assert api.client.get("/v1/models/net/versions/1").json() == version
    assert {model["name"] for model in api.client.get("/v1/models").json()["items"]} == {"net", "other"}


def test_an_archive_is_one_file_of_source(api: Api) -> None:
    answer = api.client.post("/v1/models/net/versions", content=b"PK", headers={"Content-Type": "application/zip"})
    assert answer.status_code == 201
    assert [file["name"] for file in answer.json()["source"]] == ["model.rlxz"]


def test_a_program_that_does_not_hold_together_is_shown_with_its_caret(api: Api) -> None:
    answer = api.client.post("/v1/models/net/versions", files={"model": ("net.rlx", b"bad")})
    refusal = problem(answer)
    assert (refusal["status"], refusal["line"], refusal["column"]) == (422, 1, 1)
    assert "^^^" in refusal["rendered"]
    assert api.client.get("/v1/models").json()["items"] == []
    assert not any((api.service.blobs.folder / "blobs").iterdir())


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([("weights", ("a.safetensors", b""))], "none"),
        ([("model", ("a.rlx", b"")), ("model", ("b.rlx", b""))], "a.rlx, b.rlx"),
        ([("model", ("a.onnx", b""))], "a.onnx"),
        ([("model", ("../a.rlx", b""))], "plain file name"),
        ([("model", (".rlx", b""))], "plain file name"),
        ([("model", ("a.rlx", b"")), ("weights", ("a.rlx", b""))], "two files"),
        ([("model", ("a.rlx", b"")), ("extra", ("b", b""))], "'extra'"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(
    api: Api, files: list[tuple[str, tuple[str, bytes]]], says: str
) -> None:
    refusal = problem(api.client.post("/v1/models/net/versions", files=files))
    assert refusal["code"] == "RLX-E436"
    assert says in refusal["detail"]
    assert list((api.service.blobs.folder / "tmp").iterdir()) == []


FIELD = b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\ntext\r\n--x--'


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"", "", 415),
        (b"no parts", "multipart/form-data; boundary=x", 400),
        (b"no parts", "multipart/form-data", 400),
        (
            b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\ntext\r\n--x--',
            "multipart/form-data; boundary=x",
            400,
        ),
    ],
)
def test_other_bodies_are_refused(api: Api, content: bytes, kind: str, status: int) -> None:
    answer = api.client.post("/v1/models/net/versions", content=content, headers={"Content-Type": kind})
    assert problem(answer)["status"] == status


@pytest.mark.parametrize("name", ["-x", "a b", "a%2Fb", "x" * 129, "a%00"])
def test_a_model_has_a_plain_name(api: Api, name: str) -> None:
    answer = api.client.post(f"/v1/models/{name}/versions", files={"model": ("a.rlx", b"text")})
    assert problem(answer)["status"] in {404, 422}


def test_concurrent_uploads_of_one_program_are_one_version(api_on_both: Api) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(lambda _: api_on_both.upload()["version"], range(16)))
        others = list(pool.map(lambda n: api_on_both.upload("net", b"program %d" % n)["version"], range(8)))
    assert set(versions) == {1}
    assert sorted(others) == list(range(2, 10))


def test_what_a_killed_process_left_is_swept_up(start_api, tmp_path: Path) -> None:
    left = tmp_path / "data/tmp/half"
    left.mkdir(parents=True)
    (left / "blob").write_bytes(b"half")
    start_api()
    assert not left.exists()


def test_a_stream_of_unknown_length_is_taken(api: Api) -> None:
    def stream() -> Iterator[bytes]:
        yield b"PK"
        yield b"more"

    answer = api.client.post("/v1/models/net/versions", content=stream(), headers={"Content-Type": "application/zip"})
    assert answer.json()["source"][0]["bytes"] == 6


def test_a_version_shows_its_program(api: Api) -> None:
    files = [("model", ("net.rlx", b"text")), ("weights", ("net.safetensors", b"weights"))]
    api.client.post("/v1/models/net/versions", files=files)
    answer = api.client.get("/v1/models/net/versions/1/program")
    assert (answer.json()["file"], answer.json()["text"]) == ("net.rlx", "text")
    assert "immutable" in answer.headers["cache-control"]
    assert problem(api.client.get("/v1/models/net/versions/2/program"))["status"] == 404
    assert list((api.service.blobs.folder / "tmp").iterdir()) == []


def test_a_source_nobody_knows_is_404_and_one_that_was_lost_is_500(api: Api) -> None:
    """The second is the operator's business, and a worker gives its task back."""
    (file,) = api.upload()["source"]
    assert api.client.get(f"/v1/sources/{file['digest']}").content == b"program"
    assert api.client.get(f"/v1/sources/{'0' * 64}").status_code == 404
    api.service.blobs.blob(file["digest"]).unlink()
    lost = api.client.get(f"/v1/sources/{file['digest']}")
    assert (lost.status_code, lost.json()["code"]) == (500, "RLX-E533")
