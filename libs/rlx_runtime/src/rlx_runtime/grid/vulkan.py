"""A bundle's kernels on a Vulkan device: pipelines, descriptor sets, and command buffers that run them in order.

Buffers lie in memory that this process can map, on the device where it has such memory. The package wraps C structs:
what one points to must be kept alive as long as it, and a string must be a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_wire.manifest import DeviceLaunch

__all__ = ["VulkanDevice", "described_devices", "physical_devices"]

_ROW: Final = 65535  # blocks in a row of the grid, at most
_FOREVER: Final = 2**64 - 1
_MOST_SETS: Final = 4096


@cache
def _instance() -> Any:
    import vulkan as vk

    about = vk.VkApplicationInfo(pApplicationName="rlx", apiVersion=vk.VK_MAKE_VERSION(1, 1, 0))
    return vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=about), None)


def physical_devices() -> list[Any]:
    """The devices of this machine, GPUs before CPUs. Raises what the loader raises where there is no driver."""
    import vulkan as vk

    found = list(vk.vkEnumeratePhysicalDevices(_instance()))
    return sorted(found, key=lambda one: vk.vkGetPhysicalDeviceProperties(one).deviceType == 4)


def described_devices() -> list[tuple[str, int]]:
    """The name of each device, and the bytes of its own memory."""
    import vulkan as vk

    found = []
    for one in physical_devices():
        memory = vk.vkGetPhysicalDeviceMemoryProperties(one)
        heaps = [memory.memoryHeaps[place] for place in range(memory.memoryHeapCount)]
        own = [heap.size for heap in heaps if heap.flags & vk.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT]
        found.append((str(vk.vkGetPhysicalDeviceProperties(one).deviceName), max(own, default=0)))
    return found


@dataclass(frozen=True)
class _Buffer:
    handle: Any
    memory: Any
    mapped: Any
    size: int


class VulkanDevice:
    """One device with one queue. Launches are recorded, each after the one before, and run when something waits."""

    def __init__(self, physical: Any, modules: Mapping[str, bytes]) -> None:
        import vulkan as vk

        self._vk = vk
        self._physical, self._modules = physical, modules
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(physical)
        self._family = next(i for i, one in enumerate(families) if one.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)
        self._device = self._create_device()
        self._queue = vk.vkGetDeviceQueue(self._device, self._family, 0)
        pool = vk.VkCommandPoolCreateInfo(
            flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, queueFamilyIndex=self._family
        )
        self._commands = vk.vkCreateCommandPool(self._device, pool, None)
        asked = vk.VkCommandBufferAllocateInfo(
            commandPool=self._commands, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        self._command = vk.vkAllocateCommandBuffers(self._device, asked)[0]
        self._fence = vk.vkCreateFence(self._device, vk.VkFenceCreateInfo(), None)
        self._sets = self._create_sets()
        self._pipelines: dict[str, tuple[Any, Any, Any]] = {}
        self._bound: dict[tuple[Any, ...], Any] = {}
        self._buffers: list[_Buffer] = []
        self._recording = False

    def _create_device(self) -> Any:
        """A device with what the generated code needs of 64-bit numbers and of bytes in memory."""
        vk = self._vk
        held = vk.vkGetPhysicalDeviceFeatures(self._physical)
        core = vk.VkPhysicalDeviceFeatures(
            shaderInt64=held.shaderInt64, shaderFloat64=held.shaderFloat64, shaderInt16=held.shaderInt16
        )
        bytes_ = vk.VkPhysicalDevice8BitStorageFeatures(storageBuffer8BitAccess=1)
        halves = vk.VkPhysicalDevice16BitStorageFeatures(pNext=bytes_, storageBuffer16BitAccess=1)
        small = vk.VkPhysicalDeviceShaderFloat16Int8Features(pNext=halves, shaderInt8=1)
        features = vk.VkPhysicalDeviceFeatures2(pNext=small, features=core)
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=self._family, queueCount=1, pQueuePriorities=[1.0])
        wanted = ["VK_KHR_8bit_storage", "VK_KHR_shader_float16_int8"]
        there = {one.extensionName for one in vk.vkEnumerateDeviceExtensionProperties(self._physical, None)}
        names = [name for name in wanted if name in there]
        create = vk.VkDeviceCreateInfo(pNext=features, pQueueCreateInfos=[queue], ppEnabledExtensionNames=names)
        return vk.vkCreateDevice(self._physical, create, None)

    def _create_sets(self) -> Any:
        vk = self._vk
        size = vk.VkDescriptorPoolSize(type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=8 * _MOST_SETS)
        create = vk.VkDescriptorPoolCreateInfo(maxSets=_MOST_SETS, pPoolSizes=[size])
        return vk.vkCreateDescriptorPool(self._device, create, None)

    def words(self, dtype: str) -> np.dtype[np.generic] | None:
        del dtype
        return None

    # --- memory

    def allocate(self, size: int) -> _Buffer:
        vk = self._vk
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        create = vk.VkBufferCreateInfo(size=size, usage=usage, sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE)
        handle = vk.vkCreateBuffer(self._device, create, None)
        needs = vk.vkGetBufferMemoryRequirements(self._device, handle)
        place = self._memory_type(needs.memoryTypeBits)
        memory = vk.vkAllocateMemory(
            self._device, vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=place), None
        )
        vk.vkBindBufferMemory(self._device, handle, memory, 0)
        mapped = vk.vkMapMemory(self._device, memory, 0, needs.size, 0)
        buffer = _Buffer(handle, memory, mapped, size)
        self._buffers.append(buffer)
        return buffer

    def _memory_type(self, allowed: int) -> int:
        vk = self._vk
        types = vk.vkGetPhysicalDeviceMemoryProperties(self._physical)
        seen = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        for wanted in (seen | vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, seen):
            for place in range(types.memoryTypeCount):
                if allowed >> place & 1 and types.memoryTypes[place].propertyFlags & wanted == wanted:
                    return place
        raise OSError("the device has no memory that this process can map")

    def write(self, buffer: _Buffer, array: NDArray[np.generic]) -> None:
        if array.size:
            raw = np.ascontiguousarray(array).view(np.uint8)
            np.frombuffer(buffer.mapped, np.uint8)[: raw.size] = raw

    def read(self, buffer: _Buffer, array: NDArray[np.generic]) -> None:
        self.finish()
        array.view(np.uint8)[...] = np.frombuffer(buffer.mapped, np.uint8)[: array.nbytes]

    # --- kernels

    def _pipeline(self, launch: DeviceLaunch) -> tuple[Any, Any, Any]:
        if launch.symbol not in self._pipelines:
            vk = self._vk
            bindings = [
                vk.VkDescriptorSetLayoutBinding(
                    binding=place,
                    descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                    descriptorCount=1,
                    stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
                )
                for place in range(len(launch.arguments))
            ]
            places = vk.vkCreateDescriptorSetLayout(
                self._device, vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings), None
            )
            layout = vk.vkCreatePipelineLayout(self._device, vk.VkPipelineLayoutCreateInfo(pSetLayouts=[places]), None)
            code = self._modules[launch.symbol]
            module = vk.vkCreateShaderModule(
                self._device, vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code), None
            )
            entry = vk.ffi.new("char[]", b"main")
            stage = vk.VkPipelineShaderStageCreateInfo(stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=entry)
            create = vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)
            pipeline = vk.vkCreateComputePipelines(self._device, vk.VK_NULL_HANDLE, 1, [create], None)
            pipeline = pipeline[0] if isinstance(pipeline, list) or hasattr(pipeline, "__getitem__") else pipeline
            vk.vkDestroyShaderModule(self._device, module, None)
            self._pipelines[launch.symbol] = (pipeline, layout, places)
        return self._pipelines[launch.symbol]

    def _bind(self, places: Any, buffers: Sequence[_Buffer]) -> Any:
        vk = self._vk
        asked = vk.VkDescriptorSetAllocateInfo(descriptorPool=self._sets, descriptorSetCount=1, pSetLayouts=[places])
        group = vk.vkAllocateDescriptorSets(self._device, asked)[0]
        infos = [vk.VkDescriptorBufferInfo(buffer=one.handle, offset=0, range=one.size) for one in buffers]
        writes = [
            vk.VkWriteDescriptorSet(
                dstSet=group,
                dstBinding=place,
                descriptorCount=1,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                pBufferInfo=[info],
            )
            for place, info in enumerate(infos)
        ]
        vk.vkUpdateDescriptorSets(self._device, len(writes), writes, 0, None)
        return group

    def launch(self, launch: DeviceLaunch, buffers: Sequence[_Buffer]) -> None:
        vk = self._vk
        pipeline, layout, places = self._pipeline(launch)
        key = (launch.symbol, *(id(buffer) for buffer in buffers))
        if key not in self._bound:
            self._bound[key] = self._bind(places, buffers)
        if not self._recording:
            once = vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
            vk.vkBeginCommandBuffer(self._command, once)
            self._recording = True
        vk.vkCmdBindPipeline(self._command, vk.VK_PIPELINE_BIND_POINT_COMPUTE, pipeline)
        vk.vkCmdBindDescriptorSets(
            self._command, vk.VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, [self._bound[key]], 0, None
        )
        vk.vkCmdDispatch(self._command, min(launch.blocks, _ROW), -(-launch.blocks // _ROW), 1)
        wait = vk.VkMemoryBarrier(
            srcAccessMask=vk.VK_ACCESS_SHADER_WRITE_BIT,
            dstAccessMask=vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_HOST_READ_BIT,
        )
        before = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
        after = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_HOST_BIT
        vk.vkCmdPipelineBarrier(self._command, before, after, 0, 1, [wait], 0, None, 0, None)

    def finish(self) -> None:
        if not self._recording:
            return
        vk = self._vk
        vk.vkEndCommandBuffer(self._command)
        vk.vkQueueSubmit(self._queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[self._command])], self._fence)
        vk.vkWaitForFences(self._device, 1, [self._fence], vk.VK_TRUE, _FOREVER)
        vk.vkResetFences(self._device, 1, [self._fence])
        self._recording = False

    def close(self) -> None:
        vk = self._vk
        self.finish()
        vk.vkDeviceWaitIdle(self._device)
        for buffer in self._buffers:
            vk.vkDestroyBuffer(self._device, buffer.handle, None)
            vk.vkFreeMemory(self._device, buffer.memory, None)
        for pipeline, layout, places in self._pipelines.values():
            vk.vkDestroyPipeline(self._device, pipeline, None)
            vk.vkDestroyPipelineLayout(self._device, layout, None)
            vk.vkDestroyDescriptorSetLayout(self._device, places, None)
        vk.vkDestroyDescriptorPool(self._device, self._sets, None)
        vk.vkDestroyFence(self._device, self._fence, None)
        vk.vkDestroyCommandPool(self._device, self._commands, None)
        vk.vkDestroyDevice(self._device, None)
