#include <doctest/doctest.h>

#include "scenario_text.h"

// Whole messages: what a user sees is part of the interface.

namespace hybridkv::test {

namespace {

/// Line 4 of engine_text, the place and a caret under `column`.
std::string engine_message(int column, const std::string& message, const std::string& line) {
  return "bad.yaml:4:" + std::to_string(column) + ": " + message + "\n    " + line + "\n  " +
         std::string(static_cast<std::size_t>(column - 1), ' ') + "^";
}

}  // namespace

TEST_CASE("edge: an unknown key names the closest known one") {
  CHECK(reading_error(engine_text("tensor_paralel: 2")) ==
        engine_message(3, "unknown key 'tensor_paralel' in engine; did you mean 'tensor_parallel'?",
                       "tensor_paralel: 2"));
}

TEST_CASE("edge: a known key at the wrong level names the right one") {
  CHECK(reading_error("model: Qwen3.5-4B\nmemory: 40 GiB\n") ==
        "bad.yaml:2:1: unknown key 'memory' in a scenario; did you mean 'engine.memory'?\n"
        "  memory: 40 GiB\n"
        "  ^");
}

TEST_CASE("edge: an unknown key like no other lists the known ones") {
  CHECK(reading_error("modell: x\nqqqq: 1\n") ==
        "bad.yaml:1:1: unknown key 'modell' in a scenario; did you mean 'model'?\n  modell: x\n  ^");
  CHECK(reading_error("qqqq: 1\n") ==
        "bad.yaml:1:1: unknown key 'qqqq' in a scenario; known keys: name, model, engine, limits, workspace, verify, "
        "simulate\n"
        "  qqqq: 1\n"
        "  ^");
}

TEST_CASE("edge: a whole number is expected") {
  const auto message = [](const std::string& value) { return reading_error(engine_text("tensor_parallel: " + value)); };
  const auto expected = [](const std::string& value, const std::string& problem) {
    return engine_message(20, "engine.tensor_parallel: " + problem, "tensor_parallel: " + value);
  };
  const std::string allowed = "; allowed: whole numbers from 1 to 1000000";
  CHECK(message("two") == expected("two", "'two' is not a whole number" + allowed));
  CHECK(message("1.5") == expected("1.5", "'1.5' is not a whole number" + allowed));
  CHECK(message(".nan") == expected(".nan", "'.nan' is not a whole number" + allowed));
  CHECK(message("010") == expected("010", "'010' is not a whole number" + allowed));
  CHECK(message("1e30") == expected("1e30", "'1e30' is a floating-point number" + allowed));
  CHECK(message("\"2\"") == expected("\"2\"", "'2' in quotes is text; write a whole number without quotes"));
  CHECK(message("{a: 1}") == expected("{a: 1}", "a mapping, where a whole number is expected"));
}

TEST_CASE("edge: a number outside its range or outside 64 bits") {
  CHECK(reading_error(engine_text("attention_pack_size: 0")) ==
        engine_message(24, "engine.attention_pack_size: 0 is too small; allowed: whole numbers from 1 to 1000000",
                       "attention_pack_size: 0"));
  CHECK(reading_error(engine_text("tensor_parallel: -1")) ==
        engine_message(20, "engine.tensor_parallel: -1 is too small; allowed: whole numbers from 1 to 1000000",
                       "tensor_parallel: -1"));
  CHECK(reading_error(engine_text("tensor_parallel: 2000000")) ==
        engine_message(20, "engine.tensor_parallel: 2000000 is too large; allowed: whole numbers from 1 to 1000000",
                       "tensor_parallel: 2000000"));
  CHECK(reading_error(engine_text("num_blocks: 9223372036854775808")) ==
        engine_message(15,
                       "engine.num_blocks: '9223372036854775808' does not fit 64 bits (largest: 9223372036854775807); "
                       "allowed: whole numbers from 1",
                       "num_blocks: 9223372036854775808"));
}

TEST_CASE("edge: an amount of memory is expected") {
  const auto message = [](const std::string& value) {
    return reading_error("model: Qwen3.5-4B\nengine: {memory: " + value + "}\nlimits: {max_model_len: 1}\n");
  };
  const auto expected = [](const std::string& value, const std::string& problem) {
    return "bad.yaml:2:18: engine.memory: " + problem + "\n  engine: {memory: " + value + "}\n  " +
           std::string(17, ' ') + "^";
  };
  const std::string form =
      " is no amount of memory; write bytes, or a number and a unit: 40GiB or 40G (powers of 1024), "
      "40GB (powers of 1000)";
  CHECK(message("40 Gbit") == expected("40 Gbit", "'40 Gbit'" + form));
  CHECK(message("40_000_000") ==
        expected("40_000_000", "'40_000_000' is no amount of memory; write it without separators: 40000000"));
  CHECK(message("lots") == expected("lots", "'lots'" + form));
  CHECK(message("1e30") == expected("1e30", "'1e30'" + form));
  CHECK(message("-1 GiB") == expected("-1 GiB", "'-1 GiB'" + form));
  CHECK(message("0 GiB") == expected("0 GiB", "'0 GiB' is less than one byte"));
  CHECK(message("8192 PiB") ==
        expected("8192 PiB", "'8192 PiB' does not fit 64 bits (largest: 9223372036854775807 bytes)"));
}

TEST_CASE("edge: one of some words is expected") {
  CHECK(reading_error(engine_text("kv_dtype: fp6")) ==
        engine_message(13,
                       "engine.kv_dtype: 'fp6' is none of the allowed words: fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, "
                       "int8, uint8, int8_per_token_head, fp8_per_token_head, int4_per_token_head, nvfp4, "
                       "turboquant_3bit_nc, turboquant_4bit_nc, turboquant_k8v4, fp8_ds_mla, nvfp4_ds_mla; did you "
                       "mean 'fp16' or 'fp8'?",
                       "kv_dtype: fp6"));
  CHECK(reading_error(engine_text("cache_mode: Align")) ==
        engine_message(15, "engine.cache_mode: 'Align' is none of the allowed words: none, align, all; did you mean "
                           "'align'?",
                       "cache_mode: Align"));
  CHECK(reading_error(model_text("  layers: ma\n  layer_order_verified: yes")) ==
        "bad.yaml:8:25: model.layer_order_verified: 'yes' is neither true nor false\n"
        "    layer_order_verified: yes\n"
        "                          ^");
}

TEST_CASE("edge: a key without a value") {
  CHECK(reading_error(engine_text("tensor_parallel:")) ==
        engine_message(3, "engine.tensor_parallel: has no value; give a whole number or leave the key out",
                       "tensor_parallel:"));
  CHECK(reading_error(engine_text("pad_heads:")) ==
        engine_message(3, "engine.pad_heads: has no value; give true or false or leave the key out", "pad_heads:"));
  CHECK(reading_error("model: Qwen3.5-4B\nengine:\nlimits: {max_model_len: 1}\n") ==
        "bad.yaml:2:1: engine: nothing, where a mapping (key: value) is expected\n  engine:\n  ^");
}

TEST_CASE("edge: a mapping is expected") {
  CHECK(reading_error(engine_text("draft: 3")) ==
        engine_message(10, "engine.draft: the text '3', where a mapping (key: value) is expected", "draft: 3"));
  CHECK(reading_error("- a\n") == "bad.yaml:1:1: a list, where a mapping (key: value) is expected\n  - a\n  ^");
}

TEST_CASE("edge: a key that must be there is missing") {
  CHECK(reading_error("engine: {memory: 1}\n") ==
        "bad.yaml:1:1: key 'model' is missing: the model: the name of a shipped one, {file: …}, or written out here; "
        "key 'limits' is missing: the lengths the plan is asked about\n"
        "  engine: {memory: 1}\n"
        "  ^");
  CHECK(reading_error("model: Qwen3.5-4B\nengine: {}\nlimits: {max_model_len: 1}\n") ==
        "bad.yaml:2:1: engine: key 'memory' is missing (or num_blocks): how much all pools may take, like 40 GiB\n"
        "  engine: {}\n"
        "  ^");
  CHECK(reading_error(engine_text("draft: {layers: 2}")) ==
        engine_message(3, "engine.draft: key 'attention' is missing: shape of one of its layers",
                       "draft: {layers: 2}"));
}

TEST_CASE("edge: a list where a list is one value") {
  CHECK(reading_error(engine_text("kernel_block_sizes: [16, x]")) ==
        engine_message(28, "engine.kernel_block_sizes: 'x' is not a whole number of tokens, like 32768 or 32k; "
                           "allowed: whole numbers from 1",
                       "kernel_block_sizes: [16, x]"));
  CHECK(reading_error(engine_text("kernel_block_sizes: []")) ==
        engine_message(23, "engine.kernel_block_sizes: an empty list; give at least one whole number or leave the key "
                           "out",
                       "kernel_block_sizes: []"));
  CHECK(reading_error(engine_text("kernel_block_sizes: [[16]]")) ==
        engine_message(23, "engine.kernel_block_sizes: several values make a sweep (`hybridkv sweep`), or a "
                           "table side by side (`hybridkv compare`); one value is expected here",
                       "kernel_block_sizes: [[16]]"));
}

TEST_CASE("edge: broken YAML") {
  CHECK(reading_error("model: a: b\n") ==
        "bad.yaml:1:9: broken YAML: illegal map value\n  model: a: b\n          ^");
  CHECK(reading_error("model: [1,\n") == "bad.yaml:2:1: broken YAML: end of sequence flow not found");
  CHECK(reading_error("model: x\n\tengine: 3\n") ==
        "bad.yaml:2:1: broken YAML: illegal tab when looking for indentation\n   engine: 3\n  ^");
  CHECK(reading_error("model: *nowhere\n") ==
        "bad.yaml:1:8: broken YAML: the referenced anchor is not defined\n  model: *nowhere\n         ^");
}

TEST_CASE("edge: YAML that is no scenario") {
  CHECK(reading_error("") == "bad.yaml: holds no values; a scenario needs at least the keys model, engine and limits");
  CHECK(reading_error("# nothing\n") ==
        "bad.yaml: holds no values; a scenario needs at least the keys model, engine and limits");
  CHECK(reading_error("model: x\n---\nb: 2\n") ==
        "bad.yaml:2:1: a second YAML document begins here; one is expected\n  ---\n  ^");
  CHECK(reading_error(engine_text("attention_pack_size: [1,,2]")) ==
        engine_message(27, "a value of the list is empty; take out the comma, or write null for the default",
                       "attention_pack_size: [1,,2]"));
  CHECK(reading_error("? [a]\n: b\n") == "bad.yaml:1:3: a key must be plain text\n  ? [a]\n    ^");
  CHECK(reading_error(engine_text("memory: 2")) ==
        engine_message(3, "key 'memory' is given twice (first in line 3)", "memory: 2"));
}

TEST_CASE("edge: an alias that contains itself") {
  CHECK(reading_error(engine_text("draft: &d [*d]")) ==
        engine_message(14, "an alias inside the value that it names", "draft: &d [*d]"));
}

TEST_CASE("edge: an unknown model names the closest shipped ones") {
  const auto message = [](const std::string& model) {
    return reading_error("model: " + model + "\nengine: {memory: 1}\nlimits: {max_model_len: 1}\n");
  };
  CHECK(message("Qwen3.5-397B") ==
        "bad.yaml:1:8: model: unknown model 'Qwen3.5-397B'; did you mean 'Qwen3.5-397B-A17B'?\n"
        "  model: Qwen3.5-397B\n         ^");
  CHECK(message("bart9") == "bad.yaml:1:8: model: unknown model 'bart9'; `hybridkv models` lists the shipped ones\n"
                            "  model: bart9\n         ^");
  CHECK(message("my.yaml") == "bad.yaml:1:8: model: unknown model 'my.yaml'; for a file write {file: my.yaml}\n"
                              "  model: my.yaml\n         ^");
  CHECK(message("{file: nope.yaml}") ==
        "bad.yaml:1:15: model.file: 'nope.yaml': no such file\n  model: {file: nope.yaml}\n                ^");
  CHECK(message("{file: /}") ==
        "bad.yaml:1:15: model.file: '/': is a directory, not a file\n  model: {file: /}\n                ^");
}

TEST_CASE("edge: kinds of layer that cannot be read") {
  const auto message = [](const std::string& kinds) {
    return reading_error("model: {name: x, layers: a,\n kinds: " + kinds +
                         "}\nengine: {memory: 1}\nlimits: {max_model_len: 1}\n");
  };
  const auto expected = [](int column, const std::string& problem, const std::string& kinds) {
    return "bad.yaml:2:" + std::to_string(column) + ": model.kinds" + problem + "\n   kinds: " + kinds + "}\n  " +
           std::string(static_cast<std::size_t>(column - 1), ' ') + "^";
  };
  CHECK(message("{a: gdn}") == expected(13, ".a: the text 'gdn', where a mapping with the key 'type' is expected",
                                        "{a: gdn}"));
  CHECK(message("{}") == expected(9, ": nothing, where at least one kind of layer is expected", "{}"));
  CHECK(message("{ab: {type: gdn}}") == expected(10, ": a kind is named by one letter or '*', not 'ab'",
                                                 "{ab: {type: gdn}}"));
  CHECK(message("{a: {type: gnd}}") == expected(20, ".a.type: unknown type 'gnd'; did you mean 'gdn'?",
                                                "{a: {type: gnd}}"));
  CHECK(message("{a: {heads: 2}}") ==
        expected(10,
                 ".a: key 'type' is missing; types: full_attention, sliding_window, "
                 "chunked_local, mla, cross_attention, shared_kv, gdn, mamba2, mamba1, kda, short_conv, linear, "
                 "rg_lru, rwkv4, rwkv, xlstm, cca, stream_convs, none",
                 "{a: {heads: 2}}"));
}

TEST_CASE("edge: a key of another type of kind") {
  CHECK(reading_error("model: {name: x, layers: a, kinds: {a: {type: none, heads: 2}}}\n"
                      "engine: {memory: 1}\nlimits: {max_model_len: 1}\n") ==
        "bad.yaml:1:53: unknown key 'heads' in a kind of type none; known keys: type\n"
        "  model: {name: x, layers: a, kinds: {a: {type: none, heads: 2}}}\n"
        "                                                      ^");
}

TEST_CASE("edge: head sizes and query heads that contradict each other") {
  const auto message = [](const std::string& keys) {
    return reading_error("model:\n  name: x\n  layers: a\n  kinds:\n    a: {type: full_attention, kv_heads: 2, " +
                         keys + "}\nengine: {memory: 1}\nlimits: {max_model_len: 1}\n");
  };
  const auto expected = [](int column, const std::string& problem, const std::string& keys) {
    return "bad.yaml:5:" + std::to_string(column) + ": model.kinds.a" + problem +
           "\n      a: {type: full_attention, kv_heads: 2, " + keys + "}\n  " +
           std::string(static_cast<std::size_t>(column - 1), ' ') + "^";
  };
  CHECK(message("query_heads: 5, head_size: 4") ==
        expected(57, ".query_heads: 5 query heads cannot share 2 KV heads; take a multiple of 2",
                 "query_heads: 5, head_size: 4"));
  CHECK(message("query_heads: 4, head_size: 4, head_size_k: 4") ==
        expected(74, ": head_size already sets the size of K and of V; leave one out",
                 "query_heads: 4, head_size: 4, head_size_k: 4"));
  CHECK(message("query_heads: 4, head_size_k: 4") ==
        expected(5, ": key 'head_size' is missing (or head_size_k and head_size_v)",
                 "query_heads: 4, head_size_k: 4"));
}

TEST_CASE("edge: a pattern of layers that cannot be read shows the character") {
  const auto message = [](const std::string& pattern) { return reading_error(model_text("  layers: " + pattern)); };
  const auto expected = [](int column, const std::string& shown, const std::string& problem,
                           const std::string& pattern) {
    return "bad.yaml:7:" + std::to_string(column) + ": model.layers: in '" + shown + "': " + problem +
           "\n    layers: " + pattern + "\n  " + std::string(static_cast<std::size_t>(column - 1), ' ') + "^";
  };
  CHECK(message("mmx") == expected(13, "mmx", "'x' is no kind; known kinds: E, a, m", "mmx"));
  CHECK(message("\"mmx\"") == expected(14, "mmx", "'x' is no kind; known kinds: E, a, m", "\"mmx\""));
  CHECK(message("(mm") == expected(11, "(mm", "'(' is never closed", "(mm"));
  CHECK(message("a+a") ==
        expected(11, "a+a", "'+' joins one kind of attention, one of cross attention and a recurrent one", "a+a"));
  CHECK(message("(m9999)9999") == expected(21, "(m9999)9999", "more than 10000 layers", "(m9999)9999"));
  CHECK(reading_error(model_text("  layers: ma\n  mtp: m")) ==
        "bad.yaml:8:8: model.mtp: 'm' is no kind of attention\n    mtp: m\n         ^");
}

TEST_CASE("edge: a scenario that is not there") {
  CHECK(error_of([] { load_scenario("nope.yaml"); }) == "nope.yaml: no such file");
  CHECK(error_of([] { load_scenario(""); }) == "the name of the scenario is empty");
  CHECK(error_of([] { load_scenario("qwen3.5-397"); }) ==
        "qwen3.5-397: no such file, nor a scenario or a model that comes with hybridkv; did you mean 'qwen3.5-397b' or "
        "'Qwen3.5-397B-A17B'?");
  CHECK(error_of([] { load_scenario("bart9"); }).starts_with(
      "bart9: no such file, nor a scenario or a model that comes with hybridkv; scenarios: example, "));
  CHECK(error_of([] { load_scenario("nowhere/qwen3.5-397b.yaml"); }) ==
        "nowhere/qwen3.5-397b.yaml: no such file; a scenario 'qwen3.5-397b' is shipped and found by that name");
  CHECK(error_of([] { load_scenario("/"); }) == "/: is a directory, not a file");
  CHECK(error_of([] { load_scenario("/dev/zero"); }) == "/dev/zero: is larger than 16 MiB");
  CHECK(error_of([] { load_scenario("/dev/null/x.yaml"); }) == "/dev/null/x.yaml: cannot be read: Not a directory");
}

}  // namespace hybridkv::test
