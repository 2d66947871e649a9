"""The JavaScript of a wasm bundle, in Node: the same results as `llvm`, and mistakes of a caller refused in words."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rlx_compiler import CompileOptions, compile_module
from rlx_ir.module import Module
from rlx_ir.text import parse
from rlx_runtime import load

SCRIPT = """
import { pathToFileURL } from "node:url";
const folder = pathToFileURL(process.argv[2] + "/");
const { load } = await import(new URL("rlx.js", folder));
const model = await load(folder);
const x = Float32Array.from(JSON.parse(process.argv[3]));
const told = [];
for (const wrong of [{}, { x: [1, 2] }, { x: new Float32Array(3) }, { x, y: x }]) {
  try { model.run(wrong); told.push("taken"); } catch (error) { told.push(`${error.name}: ${error.message}`); }
}
const first = model.run({ x }), second = model.run({ x });
const whole = [...first.whole].map(String);
console.log(JSON.stringify({ told, first: [...first.out], second: [...second.out], whole }));
"""


TEXT = """
@rlx.module
def small():
    x = rlx.tensor(shape=[2, 5], dtype="float32")
    out = rlx.softmax(x, axis=1)
    whole = rlx.cast(x, to="int64")
    return {"out": out, "whole": whole}
"""


def module() -> Module:
    return parse(TEXT)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed here")
def test_a_bundle_runs_in_node_and_refuses_what_does_not_fit(tmp_path: Path) -> None:
    compile_module(module(), CompileOptions("wasm"), tmp_path / "wasm")
    compile_module(module(), CompileOptions("llvm"), tmp_path / "llvm")
    x = np.linspace(-3, 3, 10, dtype=np.float32).reshape(2, 5)
    (tmp_path / "run.mjs").write_text(SCRIPT)
    done = subprocess.run(
        ["node", "run.mjs", str(tmp_path / "wasm"), json.dumps(x.ravel().tolist())],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    with load(tmp_path / "llvm", threads=1) as model:
        expected = model.run({"x": x})
    np.testing.assert_allclose(answer["first"], expected["out"].ravel(), rtol=1e-6)
    assert answer["first"] == answer["second"]
    assert answer["whole"] == [str(value) for value in expected["whole"].ravel()]
    assert answer["told"] == [
        "TypeError: input x must be a Float32Array (float32)",
        "TypeError: input x must be a Float32Array (float32)",
        "RangeError: input x has 3 elements, its shape is 2 × 5",
        "TypeError: small has no input y",
    ]


def test_the_types_name_the_inputs_and_outputs(tmp_path: Path) -> None:
    result = compile_module(module(), CompileOptions("wasm"), tmp_path / "wasm")
    text = (result.directory / "rlx.d.ts").read_text()
    assert '/** float32, 2 × 5 */\n  "x": Float32Array;' in text
    assert '"whole": BigInt64Array;' in text
