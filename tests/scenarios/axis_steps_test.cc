// Axes that go together: the points of a zip are those of the product at which its axes stand at the same position.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "scenario_text.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv::test {

namespace {

constexpr const char* zipped_file =
    "limits: {max_model_len: 1000}\n"
    "model: [Qwen3.5-4B, Qwen3.5-9B]\n"
    "engine: {memory: [40 GiB, 80 GiB], tensor_parallel: [1, 2, 4], kv_dtype: [bf16, fp8, null],\n"
    "  max_num_batched_tokens: [2048, 4096, 8192]}\n";

/// The positions of all points of a sweep, in order.
std::vector<std::vector<std::size_t>> zipped_positions(const std::vector<ZippedKeys>& zips) {
  const ScenarioSweep sweep(parse_scenario(zipped_file, "f.yaml"), zips);
  std::vector<std::vector<std::size_t>> points;
  for (std::int64_t point = 0; point < sweep.num_points(); ++point) points.push_back(sweep.values_at(point));
  return points;
}

std::string zip_error(const std::vector<ZippedKeys>& zips) {
  return error_of([&] { ScenarioSweep(parse_scenario(zipped_file, "bad.yaml"), zips); });
}

}  // namespace

TEST_CASE("law: zipped points are those of the product at which the axes stand together, in its order") {
  const auto all = zipped_positions({});
  REQUIRE(all.size() == 2u * 2 * 3 * 3 * 3);
  const auto together = [&](auto stands) {
    std::vector<std::vector<std::size_t>> kept;
    for (const auto& point : all)
      if (stands(point)) kept.push_back(point);
    return kept;
  };
  // Axes in the order of the file: model, memory, tensor_parallel, kv_dtype, max_num_batched_tokens.
  CHECK(zipped_positions({{"engine.tensor_parallel", "engine.kv_dtype"}}) ==
        together([](const auto& at) { return at[2] == at[3]; }));
  CHECK(zipped_positions({{"max_num_batched_tokens", "tensor_parallel"}, {"memory", "model"}}) ==
        together([](const auto& at) { return at[4] == at[2] && at[0] == at[1]; }));
  CHECK(zipped_positions({{"kv_dtype", "tensor_parallel", "max_num_batched_tokens"}}).size() == 2u * 2 * 3);
}

TEST_CASE("law: a reader gives zipped points the values that they say, models too") {
  const ScenarioSweep sweep(parse_scenario(zipped_file, "f.yaml"),
                            {{"model", "memory"}, {"tensor_parallel", "kv_dtype"}});
  REQUIRE(sweep.num_points() == 2 * 3 * 3);
  SweepReader reader(sweep);
  for (std::int64_t point = sweep.num_points(); point-- > 0;) {
    const Scenario& scenario = reader.at(point);
    const std::vector<std::size_t> at = sweep.values_at(point);
    CHECK(scenario.model.name == (at[0] == 0 ? "Qwen3.5-4B" : "Qwen3.5-9B"));
    CHECK(scenario.engine.memory_bytes == std::int64_t{at[0] == 0 ? 40 : 80} << 30);
    CHECK(scenario.engine.tensor_parallel == (std::int64_t{1} << at[2]));
  }
}

TEST_CASE("fault: what cannot go together is named, with what to write") {
  CHECK(zip_error({{"tensor_parallel"}}) ==
        "--zip tensor_parallel: zips two keys or more, like engine.tensor_parallel,engine.memory");
  CHECK(zip_error({{"tensor_parallel", "memory"}}) ==
        "--zip tensor_parallel,memory: engine.tensor_parallel has 3 values and engine.memory has 2; give them as many");
  CHECK(zip_error({{"tensor_paralel", "memory"}}) ==
        "--zip tensor_paralel,memory: tensor_paralel has no several values; did you mean 'tensor_parallel'?");
  CHECK(zip_error({{"memory", "memory"}}) == "--zip memory,memory: engine.memory stands there twice");
  CHECK(zip_error({{"memory", "model"}, {"engine.memory", "model"}}) ==
        "--zip engine.memory,model: engine.memory stands in another --zip; write all that go together in one");
}

TEST_CASE("law: a zipped sweep is another sweep than the product") {
  const auto identity = [](const std::vector<ZippedKeys>& zips) {
    return ScenarioSweep(parse_scenario(zipped_file, "f.yaml"), zips).identity();
  };
  const std::set<std::string> unlike{identity({}), identity({{"memory", "model"}}),
                                     identity({{"tensor_parallel", "kv_dtype"}})};
  CHECK(unlike.size() == 3);
}

}  // namespace hybridkv::test
