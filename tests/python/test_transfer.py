"""transfer says what the command line says: the counts, every copy, and the ids of both sides."""

import json

import hybridkv
import pytest

KEYS = dict(attention_pack_size=1, to_keys={"tensor_parallel": 4}, tokens=4096)
FLAGS = ["qwen3.5-397b", "--pack", "1", "--to-set", "engine.tensor_parallel=4", "--tokens", "4096"]
# A window leaves entries of its table that nobody holds.
WINDOW = dict(model="gpt-oss-20b", memory="4GiB", max_model_len=8192, tokens=3000, to_keys={"tensor_parallel": 2})
WINDOW_FLAGS = ["--model", "gpt-oss-20b", "--memory", "4GiB", "--max-model-len", "8192", "--tokens", "3000", "--to-set",
                "engine.tensor_parallel=2"]


def moved(**more):
    return hybridkv.transfer("qwen3.5-397b", **{**KEYS, **more})


def without_names(fields):
    """A scenario of keywords alone is called otherwise than one of flags alone."""
    for side in ("from", "to"):
        fields[side] = {**fields[side], "scenario": ""}
    return fields


@pytest.fixture
def exported(program, tmp_path):
    """The header and the lines of --export, and where it lies."""

    def run(*flags):
        path = tmp_path / "copies.jsonl"
        program("transfer", *flags, "--export", path)
        header, *lines = path.read_text().splitlines()
        return json.loads(header), [json.loads(line) for line in lines]

    return run


def test_counts(program):
    assert moved().to_dict() == program("transfer", *FLAGS)
    assert moved(present_tokens=1024, ids="consecutive").to_dict() == program(
        "transfer", *FLAGS, "--present", "1024", "--ids", "consecutive")


def test_alternatives(program):
    made = moved(alternatives=True)
    assert isinstance(made, hybridkv.TransferLayouts)
    assert made.to_dict() == program("transfer", *FLAGS, "--alternatives")


@pytest.mark.parametrize("flags, keys", [([], {}), (["--set", "engine.kv_dtype=bf16", "--to-set", "engine.kv_dtype=fp8",
                                                     "--convert", "dtype"], None)], ids=["as they are", "converted"])
def test_copies_are_those_of_the_list(exported, flags, keys):
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    header, lines = exported(*FLAGS, *flags)
    made = moved() if keys is not None else moved(
        kv_dtype="bf16", to_keys={"tensor_parallel": 4, "kv_dtype": "fp8"}, convert="dtype")
    copies = made.copies
    assert len(copies) == len(lines) == made.totals.descriptors and copies.dtype["from"] == np.int64
    for name in ("from_rank", "from_pool", "from", "to_rank", "to_pool", "to", "bytes", "content"):
        assert copies[name].tolist() == [line[name] for line in lines], name
    assert copies["to_bytes"].tolist() == [line.get("to_bytes", line["bytes"]) for line in lines]
    assert made.contents.to_dict() == header["contents"]
    layers = [made.contents[number].layer for number in copies["content"].tolist()]
    assert layers == [line["layer"] for line in lines]
    del made
    assert int(copies["bytes"].sum()) == header["bytes"]


def test_ids_that_were_made(exported):
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    header, _ = exported(*WINDOW_FLAGS)
    made = hybridkv.transfer(**WINDOW)
    for side, tables in (("from", made.from_ids), ("to", made.to_ids)):
        assert [[ids.tolist() for ids in groups] for groups in tables] == header[side]["ids"]
        assert all(ids.dtype == np.int64 for groups in tables for ids in groups)
    assert any(np.ma.is_masked(ids) for ids in made.from_ids[0])


def test_ids_that_are_given(program, exported, tmp_path):
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    header, _ = exported(*WINDOW_FLAGS)
    made = hybridkv.transfer(**WINDOW)
    groups = header["from"]["ids"][0]
    file = tmp_path / "ids.json"
    file.write_text(json.dumps(groups))
    said = without_names(program("transfer", *WINDOW_FLAGS, "--ids", "consecutive", "--from-ids", file))
    masked = made.from_ids
    for form in (groups, [groups], tuple(map(tuple, groups)), (iter(ids) for ids in groups), masked, masked[0],
                 [np.array(ids) if None not in ids else ids for ids in groups],
                 [np.array(ids, np.uint16) if None not in ids else ids for ids in groups],
                 [[None if i is None else np.int32(i) for i in ids] for ids in groups], file, str(file)):
        given = hybridkv.transfer(**WINDOW, ids="consecutive", from_ids=form)
        assert without_names(given.to_dict()) == said
        assert [[ids.tolist() for ids in stage] for stage in given.from_ids] == [groups]
    assert without_names(hybridkv.transfer(**WINDOW, to_ids=made.to_ids, from_ids=made.from_ids).to_dict())[
        "totals"] == made.to_dict()["totals"]
    both = hybridkv.transfer(**WINDOW, ids="consecutive", to_ids=made.to_ids, from_ids=made.from_ids)
    assert np.array_equal(both.copies, made.copies)


def test_ids_of_an_array():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    keys = dict(model="Qwen3.5-0.8B", memory="1GiB", max_model_len=4096, to_keys={"tensor_parallel": 2}, tokens=500)
    tables = hybridkv.transfer(**keys).from_ids[0]
    assert {len(ids) for ids in tables} == {1}
    square = np.stack([ids.filled(-1) for ids in tables])
    for form in (square, square[None], square.astype(np.int32)):
        given = hybridkv.transfer(**keys, from_ids=form, ids="consecutive")
        assert np.array_equal(np.stack(given.from_ids[0]), square)


def test_proof_with_ids(program):
    keys = dict(model="Qwen3.5-0.8B", memory="1GiB", max_model_len=4096, to_keys={"tensor_parallel": 2}, tokens=500)
    ids = hybridkv.transfer(**keys).from_ids
    made = hybridkv.transfer(**keys, from_ids=ids, verify=True)
    assert made.from_ids[0][0].tolist() == ids[0][0].tolist() and len(made.copies) > 0


def changed(position, value):
    groups = [[59], [67], [159], [23, 39]]
    groups[position[0]][position[1]:position[1] + 1] = [value] if value != "gone" else []
    return groups


TINY = dict(model="Qwen3.5-0.8B", engine="vllm-2026-06", memory="1GiB", max_model_len=4096,
            to_keys={"tensor_parallel": 2}, tokens=1000)


@pytest.mark.parametrize("keys, value, problem, place, remedy", [
    (dict(from_ids=changed((3, 1), -1)), -1, "from_ids[3][1] is -1", "from_ids[3][1]", "ids are whole numbers from 0"),
    (dict(from_ids=changed((0, 0), 1.5)), 1.5, "from_ids[0][0] is 1.5", "from_ids[0][0]", "ids are whole numbers"),
    (dict(from_ids=changed((0, 0), True)), True, "from_ids[0][0] is True", "from_ids[0][0]", "ids are whole numbers"),
    (dict(from_ids=changed((0, 0), "7")), "7", "from_ids[0][0] is '7'", "from_ids[0][0]", "ids are whole numbers"),
    (dict(from_ids=changed((0, 0), 1 << 70)), 1 << 70, "from_ids[0][0] is 1180", "from_ids[0][0]", "ids are whole"),
    (dict(to_ids=[[[1], 2.5]]), 2.5, "to_ids[0][1] is 2.5", "to_ids[0][1]", "give a list of groups"),
    (dict(from_ids=7), 7, "from_ids is 7", "from_ids", "give a list of groups"),
    (dict(from_ids={"a": [1]}), {"a": [1]}, "from_ids is {'a'", "from_ids", "give a list of groups"),
    (dict(from_ids=changed((0, 0), 10**6)), None, "group 0, position 0: id 1000000 is none", "from_ids=", "they are 1"),
    (dict(from_ids=changed((0, 0), None)), None, "group 0, position 0: id -1 is none", "from_ids=", "they are 1"),
    (dict(from_ids=changed((1, 0), 59)), None, "id 59 is held twice", "from_ids=", None),
    (dict(from_ids=changed((3, 0), "gone")), None, "group 3 has 1 id", "from_ids=", "a request of 1,000 tokens takes"),
    (dict(to_ids=[[1], [2]]), None, "holds 2 tables, this side has 4 groups", "to_ids=", None),
    (dict(to_ids=[[[1]], [[2]]]), None, "holds tables of 2 stages, this side has 1", "to_ids=", None),
    (dict(from_ids=[]), None, "holds 0 tables", "from_ids=", None),
    (dict(from_ids="none-such.json"), "none-such.json", "no such file", "from_ids='none-such.json'", None),
    (dict(tokens=0), 0, "tokens: 0 is too small", "tokens=0", "allowed: whole numbers from 1"),
    (dict(tokens=10.5), 10.5, "10.5 is no whole number", "tokens=10.5", "allowed: whole numbers from 1"),
    (dict(present_tokens=-1), -1, "-1 is too small", "present_tokens=-1", "allowed: whole numbers from 0"),
    (dict(ids="mixed"), "mixed", "'mixed' is no order", "ids='mixed'", "allowed: scattered, consecutive"),
    (dict(ids="scatered"), "scatered", "did you mean 'scattered'?", "ids='scatered'", "allowed: scattered"),
    (dict(convert="size"), "size", "'size' is no change", "convert='size'", "allowed: dtype, axes"),
    (dict(inject="none-such", verify=True), "none-such", "is no fault", "inject='none-such'", "allowed: all, "),
    (dict(alternatives=True, verify=True), True, "alternatives: counts", "alternatives=True", "give one of them"),
    (dict(from_idz=[[1]]), [[1]], "nor an argument is called so", "from_idz=[[1]]", "did you mean 'from_ids'?"),
])
def test_what_it_does_not_take(keys, value, problem, place, remedy):
    with pytest.raises(hybridkv.InputError) as caught:
        hybridkv.transfer(**{**TINY, **keys})
    error = caught.value
    assert problem in str(error), str(error)
    assert error.field in keys and error.place.startswith(place), (error.field, error.place)
    assert error.value == (keys[error.field] if value is None else value)
    assert error.remedy is None if remedy is None else error.remedy.startswith(remedy)


def test_ids_of_numpy_that_cannot_be():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    for ids in (np.array([1.0]), np.array([-1]), np.array([True]), np.array(["1"])):
        with pytest.raises(hybridkv.InputError, match=r"from_ids\[0\]\[0\] is .*whole numbers from 0"):
            hybridkv.transfer(**TINY, from_ids=[ids])


def test_lists_are_of_the_call():
    import pickle
    again = pickle.loads(pickle.dumps(moved()))
    assert again == moved()
    with pytest.raises(hybridkv.InputError, match="ask again"):
        again.copies
