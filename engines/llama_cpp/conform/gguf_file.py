"""A GGUF file of keys and of tensors that are all zero: the file has a hole where they lie, and takes no space."""

import math
import struct

ALIGNMENT = 32
# Number of the type, elements of a block and its bytes.
F32, F16, IQ1_S = (0, 1, 4), (1, 1, 2), (19, 256, 50)


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def typed(value):
    """The number of the type of a value, and its bytes."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, text(value)
    kinds = [typed(one) for one in value]
    kind = kinds[0][0] if kinds else 8
    return 9, struct.pack("<IQ", kind, len(kinds)) + b"".join(data for _, data in kinds)


def element_type(shape):
    """The smallest one that the engine takes: what has one row, and the taps of convolutions, is in full alone."""
    if len(shape) == 1 or min(shape) <= 8:
        return F32
    return IQ1_S if shape[0] % IQ1_S[1] == 0 else F16


def write(path, keys, tensors):
    """`tensors`: names and shapes, the innermost extent first."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, value in keys.items():
        kind, data = typed(value)
        head += text(key) + struct.pack("<I", kind) + data
    offset = 0
    for name, shape in tensors.items():
        number, block, size = element_type(shape)
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, offset)
        size = math.prod(shape) // block * size
        offset += -(-size // ALIGNMENT) * ALIGNMENT
    begin = -(-len(head) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(begin + offset)
