"""Every service keeps what its description promises, whatever it is sent: schemathesis, with all of its checks.

`make test` tries a few examples of each operation; `make schemathesis` tries a hundred, the edges of every parameter,
and sequences of calls.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services import KEY, Services, services

EXAMPLES = int(os.environ.get("RLX_SCHEMATHESIS_EXAMPLES", "1"))
PHASES = "examples,coverage,fuzzing,stateful" if EXAMPLES > 10 else "examples,fuzzing"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services(tmp_path_factory.mktemp("services")) as started:
        yield started


@pytest.mark.schemathesis
@pytest.mark.timeout(0 if EXAMPLES > 10 else 300)
@pytest.mark.parametrize("service", ["compile_api", "node", "gss"])
def test_a_service_keeps_its_promises(running: Services, service: str, tmp_path: Path) -> None:
    configuration = Path(__file__).with_name("schemathesis.toml")
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration)),
        *("run", f"{getattr(running, service)}/openapi.json", "--header", f"Authorization: Bearer {KEY}"),
        *("--checks", "all", "--max-examples", str(EXAMPLES), "--phases", PHASES, "--seed", "1"),
    ]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "160"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-30_000:] + done.stderr
