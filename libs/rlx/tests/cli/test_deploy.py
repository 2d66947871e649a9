"""What `rlx deploy` says of targets that nothing is compiled for."""

from datetime import UTC, datetime

import pytest

from rlx.cli.deploy import deployed_text
from rlx_wire.api import DeployedArtifact, Deployment

URL = "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("targets", "lacking"),
    [
        (("llvm",), None),
        (("llvm:x86-64-v3",), None),
        (("llvm", "c"), "c"),
        (("llvm:x86-64-v4", "c"), "llvm:x86-64-v4,c"),
    ],
)
def test_deploying_says_what_is_not_compiled_and_how_to_compile_it(
    targets: tuple[str, ...], lacking: str | None
) -> None:
    now = datetime.now(UTC)
    made = Deployment(
        name="net",
        model="net",
        version=1,
        program_digest="0" * 64,
        targets=targets,
        replicas=0,
        node_selector={},
        artifacts=(DeployedArtifact(target="llvm", cpu="x86-64-v3", digest="1" * 64, bytes=1),),
        created_at=now,
        updated_at=now,
    )
    text = deployed_text(made, URL)
    assert text.startswith(f"net: version 1 for {', '.join(targets)}; `rlx nodes`")
    if lacking is None:
        assert "compile" not in text
    else:
        assert f"nothing has compiled it for {lacking.replace(',', ', ')} yet" in text
        assert f"`rlx compile --remote {URL} -m FILE -t {lacking}`" in text
