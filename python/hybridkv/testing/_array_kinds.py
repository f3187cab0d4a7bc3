"""What a kernel gets its arrays as: NumPy's, or tensors of PyTorch, on the processor or on a GPU."""

import platform
import sys

import numpy as np

from .._arguments import refused

#: Bits of an element, of NumPy; the largest error of a right result, absolute and relative (tensor cores of GPUs
#: multiply fp32 with 10 bits).
ELEMENTS = {"fp32": (np.float32, 2e-3), "fp16": (np.float16, 1e-2), "bf16": (np.uint16, 4e-2), "uint8": (np.uint8, 0)}


class Element:
    """The type of the elements of a cache."""

    def __init__(self, name):
        if name not in ELEMENTS:
            raise refused("dtype", name, f"{name!r} is none", f"give one of {', '.join(ELEMENTS)}")
        self.name = name
        bits, self.tolerance = ELEMENTS[name]
        self.bits = np.dtype(bits)

    def encode(self, values):
        """Bits of the nearest element."""
        if self.name != "bf16":
            return np.asarray(values).astype(self.bits)
        wide = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
        rounded = ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)

    def decode(self, bits):
        """Values in float64."""
        if self.name != "bf16":
            return bits.astype(np.float64)
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    def nan(self):
        return self.encode(np.array([np.nan], np.float32))[0]


class NumpyArrays:
    """NumPy arrays over the memory."""
    name = "numpy"
    far = True

    def __init__(self, element):
        self.element = element
        self._bfloat16 = None
        if element.name == "bf16":
            try:
                import ml_dtypes
                self._bfloat16 = np.dtype(ml_dtypes.bfloat16)
            except ImportError:
                raise refused("dtype", "bf16", "NumPy has no such elements",
                              "pip install ml_dtypes, or take arrays='torch'") from None

    def cache(self, memory, group):
        view = memory.view(group)
        return view if self._bfloat16 is None else view.view(self._bfloat16)

    def values(self, array):
        """Values of the element type, as an array of their own."""
        bits = self.element.encode(array)
        return bits if self._bfloat16 is None else bits.view(self._bfloat16)

    def plain(self, array):
        """Indices, lengths, parameters in float32."""
        return np.ascontiguousarray(array)

    def result(self, array):
        return np.asarray(array).astype(np.float64)

    def take_back(self, memory):
        """What the kernel wrote is in the memory."""

    def device(self):
        return platform.machine()

    def versions(self):
        return {"numpy": np.__version__}


class TorchArrays:
    """Tensors of PyTorch over the memory."""
    name = "torch"
    far = True

    def __init__(self, element):
        self.element = element
        self.torch = torch = _import_torch()
        self._dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
                       "uint8": torch.uint8}[element.name]

    def _tensor(self, bits):
        tensor = self.torch.from_numpy(bits)
        return tensor if tensor.dtype == self._dtype else tensor.view(self._dtype)

    def cache(self, memory, group):
        """All views are of one storage, as they are in engines."""
        return self.torch.as_strided(self._tensor(memory.flat), group.shape, group.strides,
                                     memory.front + group.offset)

    def values(self, array):
        return self._tensor(np.ascontiguousarray(self.element.encode(array)))

    def plain(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array))

    def result(self, tensor):
        return tensor.detach().to("cpu", self.torch.float64).numpy()

    def take_back(self, memory):
        """What the kernel wrote is in the memory."""

    def device(self):
        return platform.machine()

    def versions(self):
        found = {"numpy": np.__version__, "torch": self.torch.__version__}
        return {**found, "triton": sys.modules["triton"].__version__} if "triton" in sys.modules else found


class CopiedArrays(TorchArrays):
    """Tensors of PyTorch over a copy of the memory on a device: poison and canaries as everywhere, far layouts not."""
    name = "cuda"
    far = False

    def __init__(self, element, place="cuda"):
        super().__init__(element)
        if place == "cuda" and not self.torch.cuda.is_available():
            raise refused("arrays", "cuda", "PyTorch finds no GPU here", "take arrays='torch'")
        self._place, self._storage, self._memory = place, None, None

    def cache(self, memory, group):
        if self._memory is not memory:
            self._memory, self._storage = memory, self._tensor(memory.flat).to(self._place, copy=True)
        return self.torch.as_strided(self._storage, group.shape, group.strides, memory.front + group.offset)

    def values(self, array):
        return super().values(array).to(self._place)

    def plain(self, array):
        return super().plain(array).to(self._place)

    def take_back(self, memory):
        self._tensor(memory.flat).copy_(self._storage)
        self._memory = None

    def device(self):
        return self.torch.cuda.get_device_name() if self._place == "cuda" else self._place


def _import_torch():
    try:
        import torch
    except ImportError:
        raise refused("arrays", "torch", "tensors need PyTorch, which is not installed",
                      "pip install torch, or take arrays='numpy'") from None
    return torch


KINDS = {"numpy": NumpyArrays, "torch": TorchArrays, "cuda": CopiedArrays}


def arrays_of(name, element):
    if name not in KINDS:
        raise refused("arrays", name, f"{name!r} is none", f"give one of {', '.join(KINDS)}")
    return KINDS[name](element)
