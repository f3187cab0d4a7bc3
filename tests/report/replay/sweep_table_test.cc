// The rows of a sweep as a table for people.
#include "report/replay/sweep_table.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "planner/plan.h"
#include "tests/contains.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Rows of a sweep over ranks and packs, not replayed.
SweepRows rows_over(std::vector<std::string> axes) {
  return SweepRows({.axes = std::move(axes), .verified = false, .simulated = false, .format = SweepFormat::jsonl,
                    .num_points = 4, .identity = "a question"});
}

SweepPoint point_of(std::int64_t number, std::int64_t ranks, std::int64_t pack) {
  const EngineSpec engine{.tensor_parallel = ranks, .cache_mode = CacheMode::align, .attention_pack_size = pack,
                          .memory_bytes = 40 * gib};
  return {.point = number,
          .plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}, std::nullopt, PlanDetail::numbers)};
}

std::string table_text(const SweepRows& rows, const SweepView& view) {
  SweepTable table(rows, view);
  std::int64_t number = 0;
  for (const std::int64_t ranks : {1, 2})
    for (const std::int64_t pack : {1, 5})
      if (ranks != 1 || pack != 5) table.add(point_of(number++, ranks, pack), {ranks, pack});
  for (int i = 0; i < 2; ++i)
    table.add({.point = number++, .status = PointStatus::impossible, .reason = "too little memory"},
              {std::int64_t{4}, Cell()});
  return render_text(table.document());
}

std::string refusal_of_view(const SweepRows& rows, const SweepView& view) {
  try {
    const SweepTable table(rows, view);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("golden: a row a point, with units, and each reason once") {
  const SweepRows rows = rows_over({"engine.tensor_parallel", "engine.attention_pack_size"});
  const std::string text = table_text(rows, {});
  CAPTURE(text);
  CHECK(contains(text, "tensor_parallel  attention_pack_size  block size tokens"));
  CHECK(contains(text, "  2                    1              2,096          675.5 MiB               60.59"));
  CHECK(contains(text, "              4              default"));
  CHECK(contains(text, "! 2 points: too little memory"));
  CHECK(contains(table_text(rows, {{"padding_percent", "cache_mode"}, ""}), "0.58 %       align"));
}

TEST_CASE("golden: a pivot has the last axis across and the others down, empty where there is no number") {
  const SweepRows rows = rows_over({"engine.tensor_parallel", "engine.attention_pack_size"});
  const std::string text = table_text(rows, {{}, "block_size_tokens"});
  CAPTURE(text);
  CHECK(text.starts_with("block size tokens\n"));
  CHECK(contains(text, "tensor_parallel  attention_pack_size 1  attention_pack_size 5  attention_pack_size default"));
  CHECK(contains(text, "              1                  2,096\n"));
  CHECK(contains(text, "              2                  2,096                    432\n"));
  CHECK(contains(text, "              4\n"));
}

TEST_CASE("fault: a column that there is not, and nothing to set across") {
  const SweepRows rows = rows_over({"engine.tensor_parallel"});
  CHECK(contains(refusal_of_view(rows, {{"block_size_token"}, ""}), "did you mean 'block_size_tokens'?"));
  CHECK(contains(refusal_of_view(rows, {{}, "hit_rate"}), "those of the replay are there with --simulate"));
  CHECK(contains(refusal_of_view(rows_over({}), {{}, "page_bytes"}), "nothing varies"));
}
