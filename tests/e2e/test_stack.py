"""The stack as its user meets it: one command, real photos over HTTP, a crash, an end, and the same models again."""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pytest

from examples.efficientnet_lite0 import convert, demo, preprocess
from examples.efficientnet_lite0.photos import PHOTOS
from rlx.stack import Ports, StackSettings, StackState, guard, running, status
from rlx_client import Inference, RLXClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Life:
    """A stack that can end and live again on the same folder."""

    def __init__(self, folder: Path) -> None:
        self.settings = StackSettings(data=folder, ports=Ports.free())
        self._stack = ExitStack()

    def begin(self) -> None:
        self._stack.enter_context(running(self.settings))
        self.client = self._stack.enter_context(RLXClient(endpoints=[self.settings.url]))

    def end(self) -> None:
        self._stack.close()

    @property
    def state(self) -> StackState:
        state = status(self.settings)
        assert state is not None
        return state

    def pid(self, service: str) -> int:
        pid = self.state.services[service].pid
        assert pid is not None
        return pid

    def marker(self) -> str:
        """What every process of this stack carries in its environment."""
        environment = Path(f"/proc/{self.pid('redis')}/environ").read_text().split("\0")
        return next(entry for entry in environment if entry.startswith("RLX_STACK="))

    def infer(self, target: str) -> Inference:
        image = preprocess.read_image(PHOTOS[0].path)
        return self.client.infer(demo.NAME, {"image": image}, target=target, wait=60)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory):
    """A stack on which the network is compiled and deployed for both targets."""
    life = Life(tmp_path_factory.mktemp("stack"))
    life.begin()
    try:
        demo.deploy(life.client, convert.convert(folder=tmp_path_factory.mktemp("model")))
        yield life
    finally:
        life.end()


@pytest.mark.parametrize("photo", PHOTOS, ids=lambda photo: photo.name)
def test_a_photo_is_taken_for_what_it_shows_on_every_target(life: Life, photo) -> None:
    result = demo.classify(life.client, photo)
    assert result.right, result


def test_the_open_inference_protocol_gives_the_same_answer(life: Life) -> None:
    image = preprocess.read_image(PHOTOS[0].path)
    tensor = {"name": "image", "datatype": "FP32", "shape": list(image.shape), "data": image.ravel().tolist()}
    answer = httpx.post(
        f"{life.settings.url}/v2/models/{demo.NAME}/infer", json={"id": "one", "inputs": [tensor]}, timeout=60
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == "one"
    outputs = {output["name"]: output["data"] for output in answer.json()["outputs"]}
    np.testing.assert_allclose(outputs["logits"], life.infer("llvm").outputs["logits"].ravel(), atol=1e-4)


def test_the_page_and_the_jobs_are_there(life: Life) -> None:
    assert "<title>RLX" in httpx.get(life.settings.url).text
    [job] = life.client.jobs().items
    assert (job.state, {task.target for task in job.tasks}) == ("succeeded", set(demo.TARGETS))
    assert life.client.compile(demo.NAME, demo.TARGETS).id == job.id


@pytest.mark.parametrize(
    "service",
    ["node", *(pytest.param(name, marks=pytest.mark.chaos) for name in ("scheduler", "gss", "redis", "compile-api"))],
)
def test_a_killed_service_comes_back_and_the_model_is_served_again(life: Life, service: str) -> None:
    before = life.pid(service)
    os.killpg(before, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while life.state.services[service].state != "ready" or life.pid(service) == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert life.state.services[service].restarts >= 1
    [(label, _)] = preprocess.top(life.infer("c").outputs["probabilities"])
    assert label == PHOTOS[0].label


def test_a_stack_that_ended_leaves_no_process_and_its_models_are_there_again(life: Life) -> None:
    marker = life.marker()
    assert {service.pid for service in life.state.services.values()} <= set(guard.members(marker))
    life.end()
    assert guard.members(marker) == []
    assert status(life.settings) is None

    life.begin()
    [model] = life.client.models().items
    assert model.name == demo.NAME
    [(label, _)] = preprocess.top(life.infer("llvm").outputs["probabilities"])
    assert label == PHOTOS[0].label
    assert len(life.client.jobs().items) == 1, "nothing was compiled again"
