"""ChooseLayouts: the order in memory of images whose author left it open."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlx_ir.layout import Layout
from rlx_ir.module import Module, Node, Value
from rlx_ir.passes import Pass

__all__ = ["ChooseLayouts"]

_CHANNELS_LAST = Layout.parse("NHWC", 4)


@dataclass(frozen=True)
class ChooseLayouts(Pass):
    """Images inside of a module that has a convolution are stored with their channels last.

    Then a vector is a run of channels of one pixel: convolutions broadcast an input and load weights that are packed
    for them, no padding lies inside a vector, and a depthwise convolution is elementwise. Holds where an intermediate
    of four dimensions has no layout of its own and at least four channels; arrays at the interface stay as they are.
    """

    name = "choose-layouts"

    def transform(self, module: Module) -> Module:
        if not any(node.op.name == "conv2d" for node in module.nodes):
            return module
        images = self._images(module)
        returned = {output.value for output in module.outputs}
        return module.map_nodes(lambda node: self._stored(node, images, returned))

    @staticmethod
    def _images(module: Module) -> set[str]:
        """Results of convolutions, and of what keeps four dimensions after one."""
        images: set[str] = set()
        for node in module.nodes:
            if node.op.name == "conv2d" or any(name in images for name in node.operands):
                images |= {result.name for result in node.results if result.tensor.rank == 4}
        return images

    @staticmethod
    def _stored(node: Node, images: set[str], returned: set[str]) -> Node:
        def chosen(result: Value) -> Value:
            type = result.tensor
            open_order = result.name in images and type.layout is None and result.name not in returned
            channels = type.shape[1] if type.rank == 4 else 0
            if not open_order or (isinstance(channels, int) and channels < 4):
                return result
            return replace(result, type=replace(type, layout=_CHANNELS_LAST))

        return replace(node, results=tuple(chosen(result) for result in node.results))
