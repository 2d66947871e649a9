"""All of RLX on real photos: `make demo`.

Starts the stack on this machine, uploads EfficientNet-Lite0, has it compiled for two targets, deploys it, classifies
each photo by HTTP POST on both targets, and stops everything again. Exit code 0 means: each photo was taken for what
it shows, as surely as the checkpoint itself does, and the targets agree.
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlx.stack import Ports, StackSettings, running
from rlx_client import Inference, RLXClient
from rlx_wire.api import JobEvent

from . import convert, preprocess
from .photos import PHOTOS, Photo

NAME = "efficientnet_lite0"
TARGETS = ("llvm", "c")
RUNS = 3
COMPILE_SECONDS = 300.0
LOAD_SECONDS = 60.0
PROBABILITY_TOLERANCE = 0.01
LOGITS_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Result:
    """What both targets made of one photo."""

    photo: Photo
    label: str
    probability: float
    milliseconds: dict[str, float]
    difference: float  # largest, of the logits, relative to the largest logit

    @property
    def right(self) -> bool:
        sure = abs(self.probability - self.photo.probability) <= PROBABILITY_TOLERANCE
        return self.label == self.photo.label and sure and self.difference <= LOGITS_TOLERANCE


def deploy(client: RLXClient, source: Path, say: Callable[[str], None] = print) -> None:
    """Uploads, compiles for every target and deploys. Raises RuntimeError where the job fails."""
    version = client.upload(NAME, source, source.with_suffix(".safetensors"))
    say(f"uploaded {NAME} version {version.version}, program {version.program_digest[:12]}")
    job = client.compile(NAME, TARGETS)

    def progress(event: JobEvent) -> None:
        if event.kind == "task":
            say(f"compile for {event.target}: {event.state}")

    job = client.wait(job, timeout=COMPILE_SECONDS, on_event=progress)
    for task in job.tasks:
        if task.problem is not None:
            raise RuntimeError(f"compile for {task.target}: {task.problem.rendered or task.problem.detail}")
    if job.state != "succeeded":
        raise RuntimeError(f"the job is {job.state}")
    client.deploy(NAME, TARGETS)


def classify(client: RLXClient, photo: Photo) -> Result:
    """One photo on every target, some times each: the answers must be the same every time."""
    image = preprocess.read_image(photo.path)
    answers: dict[str, list[Inference]] = {
        target: [client.infer(NAME, {"image": image}, target=target, wait=LOAD_SECONDS) for _ in range(RUNS)]
        for target in TARGETS
    }
    for target, runs in answers.items():
        if elsewhere := {answer.target for answer in runs} - {target}:
            raise RuntimeError(f"{target} was asked for, and {elsewhere.pop()} answered")
    first = answers[TARGETS[0]][0].outputs
    scale = np.max(np.abs(first["logits"]))
    difference = max(
        float(np.max(np.abs(answer.outputs["logits"] - first["logits"])) / scale)
        for runs in answers.values()
        for answer in runs
    )
    [(label, probability)] = preprocess.top(first["probabilities"])
    return Result(
        photo,
        label,
        probability,
        {
            target: statistics.median(answer.timings.compute_ns * 1e-6 for answer in runs)
            for target, runs in answers.items()
        },
        difference,
    )


def show(results: list[Result]) -> None:
    columns = "".join(f"{f'{target} ms':>10}" for target in TARGETS)
    print(f"\n{'photo':<12}{'top-1':<14}{'probability':>11}{columns}{'difference':>12}")
    for result in results:
        times = "".join(f"{result.milliseconds[target]:>10.1f}" for target in TARGETS)
        verdict = "" if result.right else f"   wrong: {result.photo.label} {result.photo.probability:.2f} expected"
        print(
            f"{result.photo.name:<12}{result.label:<14}{result.probability:>11.3f}{times}"
            f"{result.difference:>12.1e}{verdict}"
        )
    print(f"largest difference between targets: {max(result.difference for result in results):.1e}\n")


def main() -> int:
    start = time.perf_counter()
    source = convert.convert()
    # The logs of a demo that failed are worth keeping; those of one that went well are not.
    data = Path(tempfile.mkdtemp(prefix="demo-", dir=convert.ROOT / "build"))
    with (
        running(StackSettings(data=data, ports=Ports.free())) as stack,
        RLXClient(endpoints=[stack.url]) as client,
    ):
        deploy(client, source)
        results = [classify(client, photo) for photo in PHOTOS]
        show(results)
    right = all(result.right for result in results)
    if right:
        shutil.rmtree(data)
    else:
        print(f"the logs are in {data / 'logs'}", file=sys.stderr)
    print(f"{'done' if right else 'not as it should be'} in {time.perf_counter() - start:.0f} s")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
