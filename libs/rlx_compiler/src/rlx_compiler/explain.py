"""The compile report as people read it: what `rlx compile --explain` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["explanation"]


def explanation(report: Mapping[str, Any]) -> str:
    """Each kernel with its schedule, asked and chosen, and the reasons; then what was fused, and memory."""
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['model']} for {report['target']} on {report['cpu']}, level {report['opt_level']}"
    yield f"  passes    {', '.join(report['passes']) or 'none'}"
    memory = report["memory"]
    yield (
        f"  memory    {memory['space']}: {_size(memory['workspace_bytes'])} of workspace, "
        f"{_size(memory['weights_bytes'])} of weights"
    )
    for warning in report["warnings"]:
        yield f"  warning   {warning}"
    for kernel in report["kernels"]:
        yield from _kernel(kernel)
    kept = [choice for choice in report["fusion"] if not choice["fused"]]
    if kept:
        yield "  not fused"
        for choice in kept:
            yield f"    {choice['producer']} → {choice['consumer']}: {choice['reason']}"


def _kernel(kernel: Mapping[str, Any]) -> Iterator[str]:
    intensity = kernel["flops"] / kernel["bytes"] if kernel["bytes"] else 0.0
    yield (
        f"  kernel    {kernel['name']}: {' + '.join(kernel['ops'])}  "
        f"({kernel['flops'] / 1e6:.1f} MFLOP, {_size(kernel['bytes'])}, {intensity:.1f} FLOP/B)"
    )
    chosen = kernel["schedule"]
    yield f"    loops     {'; '.join(chosen['loops']) or 'none'}"
    if chosen["sums"]:
        yield f"    sums      {'; '.join(chosen['sums'])}"
    if chosen["vectorize_dim"]:
        yield f"    vectors   {chosen['vectorize_dim']}, {chosen['lanes']} lanes"
    asked = {key: value for key, value in kernel["asked"].items() if value}
    if asked:
        yield f"    asked     {'; '.join(f'{key} = {value}' for key, value in asked.items())}"
    for reason in kernel["reasons"]:
        yield f"    because   {reason}"


def _size(count: int) -> str:
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"
