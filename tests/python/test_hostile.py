"""Whatever stands in an argument: one clear error that names it, and the interpreter lives on."""

import math
import os
import random

import hybridkv
import pytest
from hybridkv.testing import check_engine

ROOT = __import__("pathlib").Path(__file__).resolve().parents[2]
SEED, CASES = 29, int(os.environ.get("HYBRIDKV_LAW_CASES", "400"))
KEYS = dict(model="Qwen3.5-0.8B", memory="1GiB", max_model_len=1024, cache_mode="align")
REPLAY = dict(KEYS, max_requests=5)
SEARCH = dict(REPLAY, packs=[1], modes="align", prompt_tokens=100)
TENSOR = dict(shape=[8, 2], stride=[2, 1], dtype="bf16", storage_bytes=64, storage_offset=0, storage="0")


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("has no text")

    def tolist(self):
        return self


def values():
    """What people and programs pass by mistake."""
    plain = [None, math.nan, math.inf, -math.inf, 10**30, -1, 0, -(10**30), 2**63, 2**64, 10**5000, 1.5, -0.0, 1e300, 1j,
             True, False, "", "x", "a\0b", "\ud800", "é" * 300, b"x", b"", bytearray(b"a"), memoryview(b"ab"), [], [1],
             [None], [[1]], [math.nan], (), (1, 2), {}, {"a": 1}, {1: 2}, set(), {1, 2}, range(3), iter([1]), ..., int,
             NotImplemented, object(), Unspeakable, Unspeakable(), len, math, ROOT, type(ROOT)]
    try:
        import numpy as np
    except ImportError:
        return plain
    return plain + [np.int64(3), np.float32(2.5), np.bool_(True), np.array(3), np.array([1, 2]), np.array([]),
                    np.array([[1.5]]), np.str_("a"), np.datetime64("2020-01-01"), np.array(["x"], object)]


def calls(plan):
    """name of an argument, and a function of its value: every argument of every function, and keys by chance."""
    def of(function, keys, *arguments):
        for name in arguments:
            yield name, lambda value, name=name: function(**{**keys, name: value})

    def first(function, keys):
        yield "scenario", lambda value: function(value, **keys)

    way = dict(KEYS, to_keys={"tensor_parallel": 2}, tokens=100)
    small = dict(KEYS, num_blocks=16)
    both = dict(KEYS, vary={"cache_mode": ["none", "align"]})
    yield from [*first(hybridkv.plan, KEYS), *first(hybridkv.explain, KEYS), *first(hybridkv.simulate, REPLAY),
                *first(hybridkv.bound, REPLAY), *first(hybridkv.recommend, SEARCH), *first(hybridkv.verify, small),
                *first(hybridkv.transfer, way), *first(hybridkv.sweep, KEYS), *first(hybridkv.compare, both)]
    yield from of(hybridkv.plan, KEYS, "detail")
    yield from of(hybridkv.simulate, KEYS, "requests")
    yield from of(hybridkv.simulate, REPLAY, "records")
    yield "requests", lambda value: hybridkv.simulate(requests=[{"input_length": 5, "hash_ids": [1]}, value], **KEYS)
    for field in ("timestamp", "input_length", "output_length", "hash_ids"):
        line = dict(timestamp=0, input_length=600, output_length=1, hash_ids=[1, 2])
        yield "requests", lambda value, field=field: hybridkv.simulate(requests=[{**line, field: value}], **KEYS)
    yield from of(hybridkv.compare, both, "vary", "replay")
    yield "cache_mode", lambda value: hybridkv.compare(**KEYS, vary={"cache_mode": value})
    yield from of(hybridkv.recommend, SEARCH, "at_length", "min_concurrency", "give_up_percent", "packs", "block_sizes",
                  "kernel_blocks", "min_kernel_block", "modes", "match_units", "retentions", "search", "strategies",
                  "ratios", "page_sizes", "track_intervals", "snapshots", "snapshot_intervals", "slots",
                  "slot_checkpoints", "checkpoint_steps", "cache_rams",
                  "prompt_tokens", "shared_prefix_tokens", "checkpoints")
    yield from of(hybridkv.verify, small, "inject", "scale", "cases")
    yield from of(hybridkv.transfer, way, "to", "to_keys", "tokens", "present_tokens", "ids", "from_ids", "to_ids",
                  "as_prefix", "convert", "alternatives", "inject")
    yield from of(hybridkv.sweep, KEYS, "verify", "simulate", "executor", "shards")
    yield "config", hybridkv.import_config
    for name in ("name", "dtype"):
        yield name, lambda value, name=name: hybridkv.import_config(ROOT / "docs/samples/sample-hybrid/config.json",
                                                                    **{name: value})
    yield "kv_cache_config", check_engine
    yield from of(check_engine, dict(kv_cache_config={"layers.3": TENSOR}), "tensors", "groups", "model", "block_axis")
    for fact in TENSOR:
        yield fact, lambda value, fact=fact: check_engine({"layers.0": {**TENSOR, fact: value}})
    yield from of(plan.pools, dict(num_blocks=16), "num_blocks", "beyond_memory")
    for view in (plan.view, plan.as_strided):
        yield from of(view, dict(layer=3), "layer", "tensor", "spec", "piece")
    yield "name", plan.explain
    for keyword in hybridkv.keywords():
        yield from of(hybridkv.plan, KEYS, keyword)
        yield from of(hybridkv.simulate, REPLAY, keyword)


OURS = ("nanobind", "std::", "_native", "precondition", "hybridkv-", "incompatible function arguments", "Wishes")


def test_every_argument_of_every_function_is_refused_by_name_or_taken():
    pytest.importorskip("numpy", reason="NumPy is not installed")
    dice, plan = random.Random(SEED), hybridkv.plan(**KEYS)
    plan.pools(num_blocks=16)
    asked, wrong = list(calls(plan)), []
    for _ in range(CASES):
        name, call = dice.choice(asked)
        value = dice.choice(values())
        value = value if dice.random() > 0.15 else [value, dice.choice(values())]
        try:
            call(value)
        except (hybridkv.InputError, hybridkv.ResourceError, AssertionError) as error:
            # What check_engine finds is an AssertionError; a key may clash with another one, which is then named.
            message = str(error)
            if not message or any(word in message for word in OURS):
                wrong.append((name, type(value).__name__, repr(error)))
        except Exception as error:
            wrong.append((name, type(value).__name__, repr(error)))
    assert wrong == []


@pytest.mark.parametrize("call, named", [
    (lambda: hybridkv.simulate(requests=[{"timestamp": 0}], **KEYS), "requests[0]"),
    (lambda: hybridkv.simulate(requests=[(0, 5, 1, [1]), 7], **KEYS), "requests[1]"),
    (lambda: hybridkv.simulate(requests=[], **KEYS), "requests"),
    (lambda: hybridkv.simulate(requests=5, **KEYS), "requests"),
    (lambda: hybridkv.simulate(records="no", **REPLAY), "records"),
    (lambda: hybridkv.compare(**KEYS, vary=[1]), "vary"),
    (lambda: hybridkv.compare(**KEYS, vary={"cache_mode": ["none", "align"]}, replay="no"), "replay"),
    (lambda: hybridkv.transfer(**KEYS, to_keys=7), "to_keys"),
    (lambda: hybridkv.transfer(**KEYS, tokens=5, alternatives=[]), "alternatives"),
    (lambda: hybridkv.sweep(**KEYS, executor=5), "executor"),
    (lambda: hybridkv.sweep(**KEYS, shards=0), "shards"),
    (lambda: hybridkv.plan(**KEYS).pools(beyond_memory="no"), "beyond_memory"),
    (lambda: hybridkv.plan(**KEYS).explain(5), "name"),
    (lambda: hybridkv.plan(**{**KEYS, "memory": "\ud800"}), "\\ud800"),
    (lambda: hybridkv.plan(**{**KEYS, "max_model_len": "é" * 300}), "max_model_len"),
    (lambda: check_engine({"layers.0": {**TENSOR, "stride": [2, 1j]}}), "layers.0: stride"),
    (lambda: check_engine({"layers.0": {"shape": [2]}}), "layers.0: stride"),
    (lambda: check_engine({"layers.0": TENSOR}, groups=5), "groups"),
    (lambda: check_engine({"layers.0": TENSOR}, block_axis="x"), "block_axis"),
])
def test_the_error_names_the_argument(call, named):
    with pytest.raises(hybridkv.InputError) as caught:
        call()
    assert named in str(caught.value) + str(caught.value.place)
    assert "/tmp" not in str(caught.value) + str(caught.value.place)


def test_none_is_as_good_as_not_given():
    nothing = dict(attention_pack_size=None, block_size_tokens=None, trace=None)
    assert hybridkv.recommend(**SEARCH, **nothing) == hybridkv.recommend(**SEARCH)
    unsaid = {key: value for key, value in SEARCH.items() if key != "packs"}
    assert hybridkv.recommend(**unsaid, **nothing) == hybridkv.recommend(**unsaid)
    packs = [[run.attention_pack_size for run in hybridkv.verify(**KEYS, num_blocks=16, **given).runs]
             for given in ({}, nothing)]
    assert packs[0] == packs[1]
    both = dict(KEYS, vary={"cache_mode": ["none", "align"], "kv_dtype": None})
    assert hybridkv.compare(**both).settings == hybridkv.compare(
        **KEYS, vary={"cache_mode": ["none", "align"]}).settings
    line = (0, 600, 1, [1, 2])
    assert hybridkv.simulate(requests=[line], **KEYS, trace=None) == hybridkv.simulate(requests=[line], **KEYS)


def test_arrays_and_numbers_of_numpy_are_plain_ones():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    plain = hybridkv.plan(**KEYS, attention_pack_size=[1, 2], tensor_parallel=1)
    made = hybridkv.plan(**KEYS, attention_pack_size=np.array([1, 2]), tensor_parallel=np.int64(1))
    assert [each.to_dict() for each in made] == [each.to_dict() for each in plain]
    with pytest.raises(hybridkv.InputError, match="no list of requests"):
        hybridkv.simulate(requests=np.array(3), **KEYS)


def test_testing_exports_its_functions_alone():
    import hybridkv.testing
    public = {name for name in dir(hybridkv.testing) if not name.startswith("_")}
    assert public == set(hybridkv.testing.__all__)
