#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "scenario_text.h"

namespace hybridkv::test {

using Numbers = std::vector<std::int64_t>;

namespace {

std::vector<SweepAxis> axes_of(std::string_view yaml) { return sweep_axes(parse_scenario(yaml, "bad.yaml")); }

}  // namespace

TEST_CASE("golden: lists and ranges are axes, in the order of the file") {
  const std::string text =
      "limits: {max_model_len: [1, 2]}\nmodel: [Qwen3.5-4B, {file: m.yaml}]\n"
      "engine: {memory: [40 GiB, 80 GiB], tensor_parallel: 1..3, cache_mode: [none, align],\n"
      "  kernel_block_sizes: [16]}\n";
  CHECK(axes_of(text) == std::vector<SweepAxis>{{"model", {"Qwen3.5-4B", "m.yaml"}},
                                                {"engine.memory", {"40 GiB", "80 GiB"}},
                                                {"engine.tensor_parallel", {"1", "2", "3"}},
                                                {"engine.cache_mode", {"none", "align"}}});
}

TEST_CASE("golden: a sweep makes one scenario per point, the first axis slowest") {
  const std::vector<Scenario> points =
      expand(parse_scenario(engine_text("tensor_parallel: [1, 2]\n  cache_mode: [none, all]"), "f.yaml"));
  REQUIRE(points.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(points[i].engine.tensor_parallel == (i < 2 ? 1 : 2));
    CHECK(points[i].engine.cache_mode == (i % 2 == 0 ? CacheMode::none : CacheMode::all));
    CHECK(points[i].point == std::vector<SweepValue>{{"engine.tensor_parallel", i < 2 ? "1" : "2"},
                                                     {"engine.cache_mode", i % 2 == 0 ? "none" : "all"}});
  }
  CHECK(std::string(located(SpecError("engine.cache_mode", "no"), points[1]).what()).starts_with("f.yaml:5:22: "));
}

TEST_CASE("golden: pack sizes stay together, whatever else is swept") {
  const std::string text = engine_text("attention_pack_size: [15, 1..4, 8]\n  tensor_parallel: [1, 2]");
  for (const Scenario& point : expand(parse_scenario(text, "f.yaml"))) {
    CHECK(point.pack_sizes == Numbers{15, 1, 2, 3, 4, 8});
    CHECK(point.engine.attention_pack_size == 15);
    CHECK(point.point.size() == 1);
  }
  CHECK(read_text_as_scenario(engine_text("attention_pack_size: 1..9 step 4")).pack_sizes == Numbers{1, 5, 9});
}

TEST_CASE("golden: models are swept, also the numbers of one written out") {
  const std::vector<Scenario> points = expand(parse_scenario(
      "model: [Qwen3.5-4B, Qwen3.6-27B]\nengine: {memory: 1 GiB}\nlimits: {max_model_len: 1}\n", "f.yaml"));
  REQUIRE(points.size() == 2);
  CHECK(points[0].model.name == "Qwen3.5-4B");
  CHECK(points[1].model.name == "Qwen3.6-27B");
  const std::string swept =
      model_text("    s: {type: mamba2, heads: [8, 16], head_dim: 16, state_size: 32}\n  layers: s");
  CHECK(axes_of(swept) == std::vector<SweepAxis>{{"model.kinds.s.heads", {"8", "16"}}});
  CHECK(std::get<Mamba2Spec>(*expand(parse_scenario(swept, "f.yaml"))[1].model.layers[0].recurrent).heads == 16);
}

TEST_CASE("law: the number of points is the product of the axes") {
  CHECK(rc::check("three axes", [] {
    const auto tp = *rc::gen::inRange(1, 6), seeds = *rc::gen::inRange(1, 6), mtp = *rc::gen::inRange(1, 6);
    const std::string text = engine_text("tensor_parallel: 1.." + std::to_string(tp) + "\n  mtp_layers: 1.." +
                                         std::to_string(mtp)) +
                             "verify: {seed: 1.." + std::to_string(seeds) + "}\n";
    const std::vector<Scenario> points = expand(parse_scenario(text, "f.yaml"));
    RC_ASSERT(points.size() == static_cast<std::size_t>(tp * seeds * mtp));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      RC_ASSERT(points[i].verify.seed == static_cast<std::uint64_t>(index % seeds + 1));
      RC_ASSERT(points[i].engine.mtp_layers == index / seeds % mtp + 1);
      RC_ASSERT(points[i].engine.tensor_parallel == index / seeds / mtp + 1);
    }
  }));
}

TEST_CASE("edge: one scenario is asked for and a sweep is given") {
  CHECK(error_of([] { read_text_as_scenario(engine_text("tensor_parallel: [1, 2]")); }) ==
        "bad.yaml:4:20: engine.tensor_parallel: several values make a sweep; one value is expected here\n"
        "    tensor_parallel: [1, 2]\n"
        "                     ^");
}

TEST_CASE("edge: sweeps over nothing, over one value twice, backwards or too far") {
  const auto error = [](const std::string& value) {
    const std::string message = reading_error(engine_text("tensor_parallel: " + value));
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
  CHECK(error("1..101\n  mtp_layers: 1..100") == "bad.yaml:5:15: a sweep of more than 10000 points");
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
