"""For tests of engines: whether the tensors that one allocated for its KV cache keep the laws of a layout.

    from hybridkv.testing import check_engine
    check_engine(config, tensors=kv_caches, model="Qwen3.5-4B")
"""

import re as _re

from .. import _native
from .._arguments import is_list as _is_list, mapping as _mapping, refused as _refused, shown as _shown, whole as _whole
from .._ask import progress_of as _progress_of
from .._plan import plan_of as _plan_of

__all__ = ["check_engine"]

_BITS = _re.compile(r"(\d+)")
_MOST = 2**63 - 1
_WHOLE_BYTES = ("8", "16", "32", "64", "128")
_NARROW = {"bool": 1, "fp32": 4, "fp16": 2, "bf16": 2, "half": 2, "float": 4, "double": 8}


def check_engine(kv_cache_config, *, tensors=None, groups=None, model=None, block_axis=0, progress=None):
    """Checks that every element lies inside its storage, that no two of a tensor are one, and that layers which are live
    together have no byte in common. Raises AssertionError with the layers and the elements at fault.

    kv_cache_config: layer name -> tensor or list of tensors; or what an engine calls so, a mapping or an object with
                     `kv_cache_groups` (each with `layer_names`), and then `tensors` has the mapping
    tensors:         PyTorch tensors, NumPy arrays, or mappings with shape, stride and storage_offset (in elements),
                     dtype or element_size, and storage and storage_bytes where there are several
    groups:          lists of names of layers that live in the same blocks; layers of two groups never have the same
                     block at the same time. Default: those of the config, else all layers are one group
    model:           all its layers that cache something must be there, and no others
    block_axis:      axis of the blocks, of all tensors; None where all of a tensor lives at once
    """
    layers = tensors if tensors is not None else _get(kv_cache_config, "tensors", kv_cache_config)
    layers = _mapping("tensors" if tensors is not None else "kv_cache_config", layers)
    if block_axis is not None:
        block_axis = _whole("block_axis", block_axis, -_MOST)
    if groups is None:
        groups = [_get(group, "layer_names", group) for group in _get(kv_cache_config, "kv_cache_groups", ())]
    if not _is_list(groups) or not all(map(_is_list, groups)):
        raise _refused("groups", groups, f"{_shown(groups)} is none", "give a list of lists of names of layers")
    groups = list(groups)
    group_of = {name: number for number, names in enumerate(groups) for name in names}
    if model is not None:
        _check_layers(layers, model)
    if groups:
        lost = [name for name in layers if name not in group_of]
        assert not lost, f"in no group of the cache: {', '.join(lost)}"
    described = [_describe(_name(name, number, held), tensor, group_of.get(name, 0), block_axis)
                 for name, held in layers.items() for number, tensor in enumerate(_listed(held))]
    with _progress_of(progress) as watch:
        faults = _native.audit(described, watch)
    assert not faults, "\n".join(faults)


def _get(holder, name, default):
    if isinstance(holder, dict):
        return holder.get(name, default)
    return getattr(holder, name, default)


def _listed(held):
    return held if isinstance(held, (list, tuple)) else [held]


def _name(name, number, held):
    return f"{name}[{number}]" if len(_listed(held)) > 1 else name


def _describe(name, tensor, group, block_axis):
    described = _native.EngineTensor()
    described.name = name
    described.group = group
    facts = tensor if isinstance(tensor, dict) else _facts_of(name, tensor)

    def number(fact, least, value):
        return _whole(f"{name}: {fact}", value, least)

    def numbers(fact, least):
        if not _is_list(facts.get(fact)):
            raise _refused(f"{name}: {fact}", facts.get(fact), f"{_shown(facts.get(fact))} is none",
                           "give a number for each axis")
        return [number(fact, least, value) for value in facts[fact]]

    described.shape, described.strides = numbers("shape", 0), numbers("stride", -_MOST)
    if len(described.shape) != len(described.strides):
        raise _refused(f"{name}: stride", facts["stride"], f"{len(described.strides)} strides of "
                       f"{len(described.shape)} axes", "give a number for each axis")
    described.offset = number("storage_offset", -_MOST, facts.get("storage_offset", 0))
    described.element_bytes = (number("element_size", 1, facts["element_size"]) if "element_size" in facts else
                               _bytes_of(name, facts.get("dtype")))
    storage = facts.get("storage", "0")
    storage = storage if isinstance(storage, str) else _shown(storage)
    described.storage = storage.encode(errors="backslashreplace").decode()
    described.storage_bytes = number("storage_bytes", 0, facts.get("storage_bytes"))
    described.block_axis = -1 if block_axis is None or not described.shape else block_axis % len(described.shape)
    return described


def _facts_of(name, tensor):
    if hasattr(tensor, "untyped_storage"):
        storage = tensor.untyped_storage()
        return {"shape": tensor.shape, "stride": tensor.stride(), "storage_offset": tensor.storage_offset(),
                "element_size": tensor.element_size(), "storage": hex(storage.data_ptr()),
                "storage_bytes": storage.nbytes()}
    if not hasattr(tensor, "__array_interface__"):
        raise _refused(name, tensor, f"{_shown(tensor)} is no tensor",
                       "give one of PyTorch, of NumPy, or a mapping of its facts")
    return _facts_of_array(tensor)


def _facts_of_array(array):
    """Of a NumPy array: its storage is the array that all its bases are views of. In bytes, whatever its elements are:
    an axis of them more."""
    whole = array
    while getattr(whole, "base", None) is not None and hasattr(whole.base, "__array_interface__"):
        whole = whole.base
    begin, here = whole.__array_interface__["data"][0], array.__array_interface__["data"][0]
    size = whole.nbytes if hasattr(whole, "nbytes") else whole.__array_interface__["shape"][0]
    return {"shape": (*array.shape, array.itemsize), "stride": (*array.strides, 1), "storage_offset": here - begin,
            "element_size": 1, "storage": hex(begin), "storage_bytes": size}


def _bytes_of(layer, dtype):
    try:
        name = str(dtype).rsplit(".", 1)[-1]
    except Exception:
        name = ""
    if name in _NARROW:
        return _NARROW[name]
    bits = _BITS.search(name)
    if bits and bits.group(1) in _WHOLE_BYTES:
        return int(bits.group(1)) // 8
    if bits and name.startswith("float8"):
        return 1
    raise _refused(f"{layer}: dtype", dtype, f"the size of {_shown(dtype)} is unknown", "give element_size")


def _check_layers(layers, model):
    """The layers of a model that cache anything, by their numbers in the names."""
    keys = {"model": model, "memory": "64TiB", "max_model_len": 1}
    specs = _plan_of(None, keys, "numbers").specs
    wanted = {layer for spec in specs if not spec.draft for layer in spec.layers}
    found = {int(numbers[0]): name for name in layers if (numbers := _re.findall(r"\d+", name))}
    missing = sorted(wanted - set(found))
    assert not missing, f"layers {missing} of {model} have no tensor"
    beyond = [name for number, name in found.items() if number not in wanted]
    assert not beyond, f"{model} caches nothing in {', '.join(beyond)}"
