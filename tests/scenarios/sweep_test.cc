#include "scenarios/sweep_axes.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <utility>

#include "scenario_text.h"
#include "test_paths.h"

namespace hybridkv::test {

using Numbers = std::vector<std::int64_t>;
using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;

namespace {

Axes axes_of(std::string_view yaml) {
  Axes axes;
  for (const SweepAxis& axis : sweep_axes(parse_scenario(yaml, "bad.yaml"))) axes.emplace_back(axis.path, axis.values);
  return axes;
}

/// Every point in order.
std::vector<Scenario> points_of(std::string_view yaml) {
  const ScenarioSweep sweep(parse_scenario(yaml, "f.yaml"));
  SweepReader reader(sweep);
  std::vector<Scenario> points;
  for (std::int64_t point = 0; point < sweep.num_points(); ++point) points.push_back(reader.at(point));
  return points;
}

std::string sweep_error(std::string_view yaml) {
  return error_of([&] { ScenarioSweep(parse_scenario(yaml, "bad.yaml")); });
}

}  // namespace

TEST_CASE("golden: lists and ranges are axes, in the order of the file") {
  const std::string text =
      "limits: {max_model_len: [1, 2]}\nmodel: [Qwen3.5-4B, {file: m.yaml}]\n"
      "engine: {memory: [40 GiB, 80 GiB], tensor_parallel: 1..3, cache_mode: [none, align],\n"
      "  kernel_block_sizes: [16], attention_pack_size: 2..10 step 4}\n"
      "verify: {requests: [[1, 2], [3..5], 6], pack_sizes: 1..3}\n";
  CHECK(axes_of(text) == Axes{{"limits.max_model_len", {"1", "2"}},
                              {"model", {"Qwen3.5-4B", "m.yaml"}},
                              {"engine.memory", {"40 GiB", "80 GiB"}},
                              {"engine.tensor_parallel", {"1", "2", "3"}},
                              {"engine.cache_mode", {"none", "align"}},
                              {"engine.attention_pack_size", {"2", "6", "10"}},
                              {"verify.requests", {"[1, 2]", "[3..5]", "6"}}});
}

TEST_CASE("golden: ranges of memory, also with a step and inside lists") {
  const auto memory = [](const std::string& value) {
    return axes_of("engine: {memory: " + value + "}\n").at(0).second;
  };
  CHECK(memory("16 GiB..64GiB step 16 GiB") == std::vector<std::string>{"16 GiB", "32 GiB", "48 GiB", "64 GiB"});
  CHECK(memory("1GiB..3GiB") == std::vector<std::string>{"1 GiB", "2 GiB", "3 GiB"});
  CHECK(memory("[80 GB, 1 GiB..2 GiB step 512 MiB]") ==
        std::vector<std::string>{"80 GB", "1 GiB", "1610612736", "2 GiB"});
  CHECK(memory("10..12") == std::vector<std::string>{"10", "11", "12"});
}

TEST_CASE("golden: a sweep makes one scenario per point, the first axis slowest") {
  const std::string text = engine_text("tensor_parallel: [1, 2]\n  cache_mode: [none, all]\n"
                                       "  attention_pack_size: 1..2");
  const std::vector<Scenario> points = points_of(text);
  const ScenarioSweep sweep(parse_scenario(text, "f.yaml"));
  REQUIRE(points.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(points[i].engine.tensor_parallel == (i < 4 ? 1 : 2));
    CHECK(points[i].engine.cache_mode == (i / 2 % 2 == 0 ? CacheMode::none : CacheMode::all));
    const std::int64_t pack = i % 2 == 0 ? 1 : 2;
    CHECK(points[i].pack_sizes == Numbers{pack});
    CHECK(points[i].engine.attention_pack_size == pack);
    CHECK(sweep.values_at(static_cast<std::int64_t>(i)) == std::vector<std::size_t>{i / 4, i / 2 % 2, i % 2});
  }
}

TEST_CASE("golden: outside a sweep pack sizes and lengths are one question") {
  const std::string text = engine_text("attention_pack_size: [15, 1..4, 8]");
  CHECK(read_text_as_scenario(text).pack_sizes == Numbers{15, 1, 2, 3, 4, 8});
  CHECK(read_text_as_scenario(text).engine.attention_pack_size == 15);
  CHECK(read_text_as_scenario(engine_text("attention_pack_size: 1..9 step 4")).pack_sizes == Numbers{1, 5, 9});
  CHECK(read_text_as_scenario("model: Qwen3.5-4B\nengine: {memory: 1 GiB}\nlimits: {max_model_len: [3, 1..2]}\n")
            .limits.max_model_lens == Numbers{3, 1, 2});
}

TEST_CASE("golden: lists where one value is a list already") {
  const std::vector<Scenario> points =
      points_of(engine_text("kernel_block_sizes: [[16], [16, 32..64 step 32], 128]") + "verify: {requests: [7, 8]}\n");
  REQUIRE(points.size() == 3);
  CHECK(points[0].engine.kernel_block_sizes == Numbers{16});
  CHECK(points[1].engine.kernel_block_sizes == Numbers{16, 32, 64});
  CHECK(points[2].engine.kernel_block_sizes == Numbers{128});
  CHECK(points[2].verify.request_tokens == Numbers{7, 8});
}

TEST_CASE("golden: null in a list is the default of the key") {
  const std::string text = engine_text("block_size_tokens: [null, 256]\n  kv_dtype: [fp8_e4m3, ~]") +
                           "simulate: {retention_interval_tokens: [0, null]}\n";
  CHECK(axes_of(text) == Axes{{"engine.block_size_tokens", {"", "256"}},
                              {"engine.kv_dtype", {"fp8_e4m3", ""}},
                              {"simulate.retention_interval_tokens", {"0", ""}}});
  const std::vector<Scenario> points = points_of(text);
  REQUIRE(points.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(points[i].engine.block_size_tokens.has_value() == (i >= 4));
    CHECK(points[i].engine.kv_dtype.has_value() == (i / 2 % 2 == 0));
    CHECK(points[i].simulate.retention_interval_tokens.has_value() == (i % 2 == 0));
  }
  const std::string twice = sweep_error(engine_text("mtp_layers: [null, 1, null]"));
  CHECK(twice.substr(0, twice.find('\n')) == "bad.yaml:4:25: engine.mtp_layers: null is given twice");
  const std::string needed =
      sweep_error("model: Qwen3.5-4B\nengine: {memory: 1}\nlimits: {max_model_len: [8, null]}\n");
  CHECK(needed.substr(0, needed.find('\n')) ==
        "bad.yaml:3:29: limits.max_model_len: has no value; give a whole number or leave the key out");
}

TEST_CASE("golden: models are swept, also the numbers of one written out") {
  const std::vector<Scenario> points =
      points_of("model: [Qwen3.5-4B, Qwen3.6-27B]\nengine: {memory: 1 GiB}\nlimits: {max_model_len: 1}\n");
  REQUIRE(points.size() == 2);
  CHECK(points[0].model.name == "Qwen3.5-4B");
  CHECK(points[1].model.name == "Qwen3.6-27B");
  const std::string swept =
      model_text("    s: {type: mamba2, heads: [8, 16], head_dim: 16, state_size: 32}\n  layers: s");
  CHECK(axes_of(swept) == Axes{{"model.kinds.s.heads", {"8", "16"}}});
  CHECK(std::get<Mamba2Spec>(*points_of(swept)[1].model.layers[0].recurrent).heads == 16);
}

/// A sweep in which every section has an axis; some values of one key undo what another one set.
const std::string mixed_sweep =
    "engine: {memory: [1 GiB, 2 GiB], kv_dtype: [bf16, int8_per_token_head, fp8_e4m3], attention_pack_size: 1..3}\n"
    "model: [Qwen3.5-4B, Qwen3.5-9B]\nlimits: {max_model_len: [8, 16], load_tokens: [[1], [2, 3]]}\n"
    "workspace: {query_tokens: 1..2, shared_blocks: 3, block_size_tokens: 16}\n";

TEST_CASE("rule: where no mode is said each point has the default of its engine for its model") {
  std::vector<CacheMode> modes;
  for (const Scenario& point : points_of("model: [Falcon-Mamba-7B, Qwen3.5-4B]\n"
                                         "engine: {memory: 40 GiB, release: [vllm-2026-06, vllm-0.33]}\n"
                                         "limits: {max_model_len: 1024}\n"))
    modes.push_back(point.engine.cache_mode);
  CHECK(modes == std::vector{CacheMode::none, CacheMode::none, CacheMode::none, CacheMode::align});
}

TEST_CASE("law: a point is the same however a reader came to it") {
  const ScenarioSweep sweep(parse_scenario(mixed_sweep, "f.yaml"));
  CHECK(sweep.num_points() == 2 * 3 * 3 * 2 * 2 * 2 * 2);
  SweepReader wanderer(sweep);
  CHECK(rc::check("any order", [&] {
    const auto point = *rc::gen::inRange<std::int64_t>(0, sweep.num_points());
    SweepReader fresh(sweep);
    const Scenario& a = wanderer.at(point);
    const Scenario& b = fresh.at(point);
    RC_ASSERT(a.model == b.model);
    RC_ASSERT(a.engine == b.engine);
    RC_ASSERT(a.limits == b.limits);
    RC_ASSERT(a.workspace == b.workspace);
    RC_ASSERT(a.pack_sizes == b.pack_sizes);
  }));
}

TEST_CASE("law: a point of a sweep is the scenario with its values written out") {
  const ScenarioFile file = parse_scenario(mixed_sweep, "f.yaml");
  const ScenarioSweep sweep(file);
  SweepReader reader(sweep);
  for (std::int64_t point = 0; point < sweep.num_points(); ++point) {
    ScenarioFile written = file;
    const std::vector<std::size_t> values = sweep.values_at(point);
    for (std::size_t axis = 0; axis < values.size(); ++axis)
      apply_override(written, sweep.axes()[axis].path, sweep.axes()[axis].values[values[axis]], "test");
    const Scenario expected = read_scenario(written);
    const Scenario& swept = reader.at(point);
    CHECK(swept.model == expected.model);
    CHECK(swept.engine == expected.engine);
    CHECK(swept.limits == expected.limits);
    CHECK(swept.workspace == expected.workspace);
    CHECK(swept.pack_sizes == expected.pack_sizes);
  }
}

TEST_CASE("law: the number of points is the product of the axes") {
  CHECK(rc::check("three axes", [] {
    const auto tp = *rc::gen::inRange(1, 6), seeds = *rc::gen::inRange(1, 6), mtp = *rc::gen::inRange(1, 6);
    const std::string text = engine_text("tensor_parallel: 1.." + std::to_string(tp) + "\n  mtp_layers: 1.." +
                                         std::to_string(mtp)) +
                             "verify: {seed: 1.." + std::to_string(seeds) + "}\n";
    const std::vector<Scenario> points = points_of(text);
    RC_ASSERT(points.size() == static_cast<std::size_t>(tp * seeds * mtp));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      RC_ASSERT(points[i].verify.seed == static_cast<std::uint64_t>(index % seeds + 1));
      RC_ASSERT(points[i].engine.mtp_layers == index / seeds % mtp + 1);
      RC_ASSERT(points[i].engine.tensor_parallel == index / seeds / mtp + 1);
    }
  }));
}

TEST_CASE("edge: the points of a huge sweep are counted, not made") {
  std::string text =
      "engine: {memory: 1..10000, tensor_parallel: 1..10000, num_blocks: 1..10000, mtp_layers: 1..10000}\n"
      "model: Qwen3.5-4B\nlimits: {max_model_len: 1}\n";
  const ScenarioSweep sweep(parse_scenario(text, "f.yaml"));
  CHECK(sweep.num_points() == 10'000'000'000'000'000);
  SweepReader reader(sweep);
  const Scenario& last = reader.at(sweep.num_points() - 1);
  CHECK(last.engine.memory_bytes == 10'000);
  CHECK(last.engine.mtp_layers == 10'000);
  text += "verify: {seed: 1..10000}\n";
  const std::string error = sweep_error(text);
  CHECK(error.substr(0, error.find('\n')) ==
        "bad.yaml:4:16: verify.seed: with its 10000 values the sweep has more points than 64 bits count");
}

TEST_CASE("law: the identity of a sweep changes with each value and not with its place") {
  const auto identity = [](const std::string& text) {
    return ScenarioSweep(parse_scenario(text, "f.yaml")).identity();
  };
  const std::string text = engine_text("tensor_parallel: [1, 2]");
  CHECK(identity(text) == identity("# a comment\n" + text));
  CHECK(identity(text) != identity(engine_text("tensor_parallel: [1, 4]")));
  CHECK(identity(text) == identity(engine_text("tensor_parallel: 1..2")));
  CHECK(identity(text) != identity(engine_text("tensor_parallel: [2, 1]")));
  CHECK(identity(text) != identity(engine_text("tensor_parallel: [1, 2]\n  mtp_layers: 1")));
  const std::string with_file = "model: {file: " HYBRIDKV_TEST_DATA
                                "/scenarios/tiny_model.yaml}\nengine: {memory: 1}\nlimits: {max_model_len: 1}\n";
  CHECK(identity(with_file).find("kinds") != std::string::npos);
}

TEST_CASE("regression: the identity of a sweep is that of its numbers, however they are written") {
  const auto identity = [](const std::string& memory, const std::string& length, const std::string& more = "") {
    const std::string text = "model: Qwen3.5-4B\nengine: {memory: " + memory + ", tensor_parallel: [1, 2]" + more +
                             "}\nlimits: {max_model_len: " + length + "}\n";
    return ScenarioSweep(parse_scenario(text, "f.yaml")).identity();
  };
  CHECK(identity("40 GiB", "32k") == identity("42949672960", "32768"));
  CHECK(identity("40G", "32k") != identity("40GB", "32k"));
  CHECK(identity("40G", "32k") != identity("40G", "32000"));
  CHECK(identity("40G", "[8k, 32k]") == identity("40G", "[8192, 32768]"));
  CHECK(identity("40G", "8k..32k step 8k") == identity("40G", "[8k, 16k, 24k, 32k]"));
  CHECK(identity("40G", "[8k, 32k]") != identity("40G", "[32k, 8k]"));
  // Rows call the values of a swept size as they were written.
  CHECK(identity("[20G, 40G]", "32k") != identity("[20G, 40GiB]", "32k"));
  CHECK(identity("40G", "32k", ", kernel_block_sizes: [1k, 16]") ==
        identity("40G", "32k", ", kernel_block_sizes: [1024, 16]"));
}

TEST_CASE("edge: one scenario is asked for and a sweep is given") {
  CHECK(error_of([] { read_text_as_scenario(engine_text("tensor_parallel: [1, 2]")); }) ==
        "bad.yaml:4:20: engine.tensor_parallel: several values make a sweep (`hybridkv sweep`), or a table side "
        "by side (`hybridkv compare`); one value is expected here\n"
        "    tensor_parallel: [1, 2]\n"
        "                     ^");
}

TEST_CASE("edge: sweeps over nothing, over one value twice, backwards or too far") {
  const auto error = [](const std::string& value) {
    const std::string message = sweep_error(engine_text("tensor_parallel: " + value));
    return message.substr(0, message.find('\n'));
  };
  CHECK(error("[]") == "bad.yaml:4:20: engine.tensor_parallel: an empty list; give at least one value");
  CHECK(error("[1, 2, 1]") == "bad.yaml:4:27: engine.tensor_parallel: '1' is given twice");
  CHECK(error("[1..3, 2]") == "bad.yaml:4:27: engine.tensor_parallel: '2' is given twice");
  CHECK(error("3..1") == "bad.yaml:4:20: engine.tensor_parallel: the range '3..1' runs backwards; write the smaller "
                         "number first");
  CHECK(error("1..10001") == "bad.yaml:4:20: engine.tensor_parallel: the range '1..10001' has more than 10000 "
                              "values");
  CHECK(error("[1..10000, 10001..10002]") == "bad.yaml:4:31: engine.tensor_parallel: more than 10000 values");
  CHECK(error("[[1]]") == "bad.yaml:4:21: engine.tensor_parallel: a list inside a list");
  CHECK(error("[1, x]") == "bad.yaml:4:24: engine.tensor_parallel: 'x' is not a whole number; allowed: whole numbers "
                           "from 1 to 1000000");
  const std::string sizes = sweep_error("engine:\n  memory: 3 GiB..2 GiB\n");
  CHECK(sizes.substr(0, sizes.find('\n')) == "bad.yaml:2:11: engine.memory: the range '3 GiB..2 GiB' runs backwards; "
                                             "write the smaller size first");
  CHECK(error("0..1") == "bad.yaml:4:20: engine.tensor_parallel: 0 is too small; allowed: whole numbers from 1 to "
                         "1000000");
}

TEST_CASE("edge: a model file holds one model, no sweep") {
  CHECK(reading_error("model: {file: " HYBRIDKV_TEST_DATA "/scenarios/swept_model.yaml}\n"
                      "engine: {memory: 1}\nlimits: {max_model_len: 1}\n") ==
        HYBRIDKV_TEST_DATA "/scenarios/swept_model.yaml:3:28: model.kinds.m.heads: a list, where a whole number is "
                           "expected\n"
                           "    m: {type: mamba2, heads: [4, 8], head_dim: 8, state_size: 16}\n"
                           "                             ^");
}

}  // namespace hybridkv::test
