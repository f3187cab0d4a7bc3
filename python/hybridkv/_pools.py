"""Pools and views: NumPy arrays over the planned memory, which other frameworks take by DLPack."""

from . import _native
from ._arguments import whole, word
from ._errors import InputError

try:
    import numpy as np
except ImportError:
    raise ImportError("pools and views need NumPy: pip install numpy") from None

_PLAIN = {"fp32": "float32", "fp16": "float16", "int8": "int8", "uint8": "uint8"}
_WIDE = {"bf16": ("bfloat16", "uint16"), "fp8_e4m3": ("float8_e4m3fn", "uint8"), "fp8_e5m2": ("float8_e5m2", "uint8")}


def numpy_dtype(name):
    """NumPy's type of elements; of those that it has not, ml_dtypes' where that is installed, else their bits."""
    if name in _PLAIN:
        return np.dtype(_PLAIN[name])
    wide, bits = _WIDE[name]
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, wide))
    except ImportError:
        return np.dtype(bits)


class ViewArray(np.ndarray):
    """A NumPy array that knows its element type where NumPy does not: `torch.from_dlpack(view)` is a bfloat16 tensor
    over the same memory. So are its slices."""

    element_type = None  # and the type of NumPy's that stands for it
    _stands_for_it = None

    def __array_finalize__(self, base):
        self.element_type = getattr(base, "element_type", None)
        self._stands_for_it = getattr(base, "_stands_for_it", None)

    def __dlpack__(self, **wishes):
        if self.element_type is None or self.dtype != self._stands_for_it or min(self.strides, default=0) < 0:
            return super().__dlpack__(**wishes)
        size = self.dtype.itemsize
        strides = [stride // size for stride in self.strides]
        tensor = _native.tensor_at(self.ctypes.data, list(self.shape), strides, self.element_type, self)
        return tensor.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return (1, 0)

    def torch(self):
        """The same memory as a PyTorch tensor."""
        import torch
        return torch.from_dlpack(self)


def find_view(plan, layer, tensor, spec, piece):
    """The view of a plan's JSON."""
    layer, tensor = whole("layer", layer), word("tensor", tensor)
    spec = None if spec is None else whole("spec", spec)
    piece = None if piece is None else whole("piece", piece)
    named = [view for view in plan["views"] if view["layer"] == layer and view["tensor"] == tensor]
    found = [view for view in named if spec is None or view["spec"] == spec]
    if not found:
        tensors = sorted({view["tensor"] for view in plan["views"] if view["layer"] == layer})
        raise InputError(f"layer {layer} has no {tensor!r}; " + (f"it has {', '.join(tensors)}" if tensors else
                                                                 "no such layer has a view"))
    if len({view["spec"] for view in found}) > 1:
        specs = sorted({view["spec"] for view in found})
        raise InputError(f"layer {layer} of several specs has {tensor!r}; choose one of spec={specs}")
    if piece is not None:
        found = [view for view in found if view.get("piece", 0) == piece]
        if not found:
            raise InputError(f"{tensor!r} of layer {layer} has no piece {piece}")
    if len(found) > 1:
        pieces = sorted({view.get("piece", 0) for view in found})
        raise InputError(f"{tensor!r} of layer {layer} lies in {len(found)} pieces; choose one of piece={pieces}")
    return found[0]


class Pools:
    """The pools of a plan as memory, zero until written: an array of bytes each, and the views that lie in them."""

    def __init__(self, plan, beyond_memory=False):
        self.plan = plan
        self._native = _native.Pools(plan._held.native, plan._index, beyond_memory)

    def __len__(self):
        return len(self._native)

    def __getitem__(self, index):
        """The bytes of one pool."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} pools")
        index %= len(self)
        address, size = self._native.address(index), self._native.size(index)
        return np.asarray(_Bytes(self._native, address, size))

    def __repr__(self):
        return f"Pools({len(self)} of {self.reserved_bytes:,} bytes together, {self.plan.num_blocks} blocks)"

    @property
    def reserved_bytes(self):
        return self._native.reserved_bytes

    @property
    def resident_bytes(self):
        """What was touched, in whole pages of memory."""
        return self._native.resident_bytes

    def view(self, layer, tensor="kv", *, spec=None, piece=None):
        """A tensor of a layer, without a copy."""
        view = find_view(self.plan._data(), layer, tensor, spec, piece)
        array = np.ndarray(view["shape"], numpy_dtype(view["dtype"]), self[view["pool"]], view["offset_bytes"],
                           view["strides_bytes"]).view(ViewArray)
        array.element_type, array._stands_for_it = view["dtype"], array.dtype
        return array

    def reader(self, layer, what, *, spec=None):
        """The tensor as verify's own arithmetic finds it, element by element: `what` is "key", "value" (both by block,
        token, head and channel) or a tensor of a state; `.read()` and `.write(values)` in float32."""
        view = find_view(self.plan._data(), layer, "kv" if what in ("key", "value") else what, spec, None)
        return self._native.reader(view["spec"], layer, what)


class _Bytes:
    """Memory in the form that NumPy takes without a copy."""

    def __init__(self, owner, address, size):
        self._owner = owner
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}
