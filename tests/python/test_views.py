"""Views: what is written through them is what verify's own arithmetic reads, and the reverse."""

import hybridkv
import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")

SMALL = dict(memory="4GiB", max_model_len=2048)
ORDERS = [dict(attention_pack_size=2, physical_order="nhd"), dict(attention_pack_size=2, physical_order="hnd"),
          dict(attention_pack_size=3, physical_order="head_major")]
ORDERS += [dict(engine="vllm-0.33", physical_order=order) for order in ("LBNHC", "LBHNC", "BLNHC", "BLHNC")]
# Head before layer or block: of models without states alone.
ORDERS += [dict(model="gpt-oss-20b", engine="vllm-0.33", physical_order=order) for order in ("BHLNC", "LHBNC")]


def layers_of(plan):
    """Two layers of each spec: (spec, layer)."""
    return [(spec.id, layer) for spec in plan.specs for layer in spec.layers[:2]]


def random_values(shape, seed):
    # Few bits, so that every element type has them.
    return np.random.default_rng(seed).integers(-15, 16, shape).astype(np.float32)


def key_and_value(plan, view, array):
    """K and V as (block, token, head, channel) out of a view, by the names of its axes alone."""
    attention = plan.specs[view.spec].attention
    axes = list(view.axes)
    if "kv" in axes:
        halves = [np.take(array, half, axes.index("kv")) for half in (0, 1)]
        axes.remove("kv")
    else:
        halves = np.split(array, [attention.head_size_k], axes.index("channel"))
    return [half.transpose([axes.index(name) for name in ("block", "token", "head", "channel")]) for half in halves]


def view_of(plan, spec, layer, tensor):
    return next(view for view in plan.views if (view.spec, view.layer, view.tensor) == (spec, layer, tensor))


def planned(**keys):
    return hybridkv.plan(**{"model": "Qwen3.5-0.8B", "engine": "vllm-2026-06", **SMALL, **keys})


def numpy_values(array, dtype):
    """A view's values in float32; of bf16 from its bits, whatever NumPy calls them."""
    if dtype == "bf16":
        return (np.asarray(array).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.asarray(array).astype(np.float32)


def put(array, dtype, values):
    if dtype == "bf16":
        np.asarray(array).view(np.uint16)[...] = values.view(np.uint32) >> 16
    else:
        array[...] = values


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order["physical_order"])
def test_numpy_writes_what_verify_reads(order, dtype):
    plan = planned(**order, kv_dtype=dtype, ssm_dtype=dtype)
    pools = plan.pools(num_blocks=17)
    for number, spec in enumerate(pools.plan.specs):
        layer = spec.layers[-1]
        for view in [view for view in pools.plan.views if (view.spec, view.layer) == (spec.id, layer)]:
            array = pools.view(layer, view.tensor, spec=spec.id)
            assert list(array.strides) == view.strides_bytes and list(array.shape) == view.shape
            values = random_values(view.shape, number)
            put(array, view.dtype, values)
            is_kv = view.tensor == "kv"
            wanted = key_and_value(pools.plan, view, values) if is_kv else [values]
            for what, want in zip(("key", "value") if is_kv else (view.tensor,), wanted):
                reader = pools.reader(layer, what, spec=spec.id)
                assert np.array_equal(reader.read(), want)
                reader.write(np.ascontiguousarray(-want))
            assert np.array_equal(numpy_values(array, view.dtype), -values)


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order["physical_order"])
def test_torch_writes_what_verify_reads(torch, order, dtype):
    plan = planned(**order, kv_dtype=dtype, ssm_dtype=dtype)
    pools = plan.pools(num_blocks=20)
    element = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
    kinds = set()
    for number, (spec, layer) in enumerate(layers_of(pools.plan)):
        kinds.add(pools.plan.specs[spec].kind)
        tensors = [view.tensor for view in pools.plan.views if (view.spec, view.layer) == (spec, layer)]
        for tensor in tensors:
            # Groups share pages, so each layer is written and read before the next one.
            view = view_of(pools.plan, spec, layer, tensor)
            array = plan.view(layer, tensor, spec=spec)
            through = torch.from_dlpack(array)
            assert through.data_ptr() == array.ctypes.data
            assert view.dtype != dtype or through.dtype == element
            assert tuple(through.shape) == tuple(view.shape) and list(through.stride()) == view.strides
            values = random_values(view.shape, number)
            through.copy_(torch.from_numpy(values))
            whats = ("key", "value") if tensor == "kv" else (tensor,)
            wanted = key_and_value(pools.plan, view, values) if tensor == "kv" else [values]
            for what, want in zip(whats, wanted):
                read = pools.reader(layer, what, spec=spec).read()
                assert np.array_equal(read, want)
            # The reverse: verify's arithmetic writes, PyTorch reads.
            for what, want in zip(whats, wanted):
                pools.reader(layer, what, spec=spec).write(np.ascontiguousarray(-want))
            assert torch.equal(through.float(), torch.from_numpy(-values))
    assert len(kinds) == 2


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order["physical_order"])
def test_as_strided_is_the_same_memory(torch, order):
    plan = planned(**order)
    pools = plan.pools(num_blocks=20)
    for spec, layer in layers_of(pools.plan):
        for view in pools.plan.views:
            if (view.spec, view.layer) != (spec, layer):
                continue
            array = pools.view(layer, view.tensor, spec=spec)
            tensor = array.torch()
            storage = torch.from_dlpack(pools[view.pool]).view(tensor.dtype)
            mine = torch.as_strided(storage, *pools.plan.as_strided(layer, view.tensor, spec=spec))
            assert (mine.data_ptr(), mine.shape, mine.stride()) == (tensor.data_ptr(), tensor.shape, tensor.stride())


FP8 = {"fp8_e4m3": ("float8_e4m3fn", 448), "fp8_e5m2": ("float8_e5m2", 57344)}


def fp8_views(dtype):
    """The pools of a small plan in that type, and per layer of attention and order what a test writes and reads."""
    for order in ("nhd", "hnd"):
        plan = planned(kv_dtype=dtype, attention_pack_size=2, physical_order=order)
        pools = plan.pools(num_blocks=6)
        spec = next(spec for spec in pools.plan.specs if spec.kind == "full_attention")
        for layer in spec.layers[:2]:
            yield pools, view_of(pools.plan, spec.id, layer, "kv"), layer


def fp8_values(view, seed, largest):
    """Values that both types have: small whole numbers, halves, the largest, zeros of both signs."""
    values = random_values(view.shape, seed)
    some = values.reshape(-1)
    some[:6] = (largest, -largest, 0.5, -0.25, 0.0, -0.0)
    return values


@pytest.mark.parametrize("dtype", FP8)
def test_fp8_values_of_numpy(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    name, largest = FP8[dtype]
    for number, (pools, view, layer) in enumerate(fp8_views(dtype)):
        assert view.dtype == dtype
        array = pools.view(layer)
        assert array.dtype == getattr(ml_dtypes, name)
        # Of bits E4M3 keeps four, so that whole numbers to 15 are themselves; E5M2 keeps three, and rounds to even.
        values = fp8_values(view, number, largest).astype(array.dtype).astype(np.float32)
        array[...] = values.astype(array.dtype)
        for what, want in zip(("key", "value"), key_and_value(pools.plan, view, values)):
            reader = pools.reader(layer, what)
            assert np.array_equal(reader.read(), want)
            reader.write(np.ascontiguousarray(-want))
        assert np.array_equal(array.astype(np.float32), -values)


@pytest.mark.parametrize("dtype", FP8)
def test_fp8_rounds_as_numpy_does(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    name, largest = FP8[dtype]
    pools, view, layer = next(fp8_views(dtype))
    reader = pools.reader(layer, "key")
    values = np.random.default_rng(7).uniform(-largest / 100, largest / 100, reader.shape).astype(np.float32)
    reader.write(values)
    assert np.array_equal(reader.read(), values.astype(getattr(ml_dtypes, name)).astype(np.float32))


@pytest.mark.parametrize("dtype", FP8)
def test_fp8_values_of_torch(torch, dtype):
    name, largest = FP8[dtype]
    for number, (pools, view, layer) in enumerate(fp8_views(dtype)):
        through = torch.from_dlpack(pools.view(layer))
        assert through.dtype == getattr(torch, name)
        values = torch.from_numpy(fp8_values(view, number, largest)).to(through.dtype)
        through.copy_(values)
        wanted = key_and_value(pools.plan, view, values.float().numpy())
        for what, want in zip(("key", "value"), wanted):
            reader = pools.reader(layer, what)
            assert np.array_equal(reader.read(), want)
            reader.write(np.ascontiguousarray(-want))
        assert torch.equal(through.float(), -values.float())


@pytest.mark.parametrize("dtype", FP8)
def test_fp8_bits_of_numpy(dtype):
    """Without ml_dtypes a view has bits: those that the reader writes."""
    pools, view, layer = next(fp8_views(dtype))
    bits = np.asarray(pools.view(layer)).view(np.uint8)
    bits[...] = {"fp8_e4m3": 0x38, "fp8_e5m2": 0x3C}[dtype]  # 1
    reader = pools.reader(layer, "key")
    assert np.array_equal(reader.read(), np.ones(reader.shape, np.float32))
    reader.write(np.full(reader.shape, -2, np.float32))
    key = key_and_value(pools.plan, view, bits)[0]
    assert np.all(key == 0xC0)  # in both types


def test_fp8_and_slices(torch):
    plan = planned(kv_dtype="fp8", attention_pack_size=2)
    plan.pools(num_blocks=4)
    layer = next(spec for spec in plan.specs if spec.kind == "full_attention").layers[0]
    view = plan.view(layer)
    assert torch.from_dlpack(view).dtype == torch.float8_e4m3fn
    part = view[1:3, :, 5]
    tensor = torch.from_dlpack(part)
    assert tensor.data_ptr() == part.ctypes.data and tensor.stride() == part.strides
    assert torch.from_dlpack(view.view(np.int8)).dtype == torch.int8


def test_memory_is_shared_and_lazy():
    plan = hybridkv.plan(model="Qwen3.5-397B-A17B", tensor_parallel=2, memory="40GiB", max_model_len=32768,
                         attention_pack_size=5)
    with pytest.raises(hybridkv.ResourceError, match=r"take \d{13,} bytes \(.* free here; take fewer") as caught:
        hybridkv.plan(model="Qwen3.5-397B-A17B", memory="100TiB", max_model_len=32768).pools()
    assert isinstance(caught.value, MemoryError)
    pools = plan.pools(beyond_memory=True)
    assert pools.reserved_bytes == sum(pool.bytes for pool in plan["pools"])
    view = plan.view(3)
    view[-1, ..., -1] = 1
    assert pools.resident_bytes < 1 << 24
    assert plan.view(3).ctypes.data == view.ctypes.data
    assert np.shares_memory(pools[0], plan.view(0, "ssm"))


def test_views_that_are_not_there():
    plan = planned()
    plan.pools(num_blocks=4)
    with pytest.raises(hybridkv.InputError, match="layer 0 has no 'kv'; it has conv, ssm"):
        plan.view(0)
    with pytest.raises(hybridkv.InputError, match="no such layer"):
        plan.view(999)


def test_pools_outlive_their_plan():
    view = planned().pools(num_blocks=4).view(0, "ssm")
    view[:] = 2
    assert float(view.astype(np.float32).sum()) == 2 * view.size
