// What is said of the pick of a server with slots.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "report/recommend/recommend_report.h"
#include "tests/ask/engine_recommendations.h"
#include "tests/contains.h"

using namespace hybridkv;
using testing::contains;

namespace {

RecommendAnswer answer_of_slots() {
  static const RecommendAnswer answer = *testing::recommended("llama.cpp").answer;
  return answer;
}

SequenceRows& rows_of_pick(RecommendAnswer& answer) {
  return *answer.result.layouts[answer.picked().layout].plan.rows;
}

}  // namespace

TEST_CASE("golden: the pick says how much of prompts is saved on the host, or that none is") {
  RecommendAnswer answer = answer_of_slots();
  const auto said = [&] { return render_text(recommend_pick(answer), {.width = 1000}); };
  rows_of_pick(answer).saved_bytes = std::int64_t{1} << 30;
  CHECK(contains(said(), " a slot, 1 GiB for saved prompts\n"));
  rows_of_pick(answer).saved_bytes = 0;
  CHECK(contains(said(), " a slot, none for saved prompts\n"));
  rows_of_pick(answer).saved_bytes = -1;  // no limit of their own
  CHECK(contains(said(), " a slot, saved prompts of as many tokens as cells\n"));
}

TEST_CASE("edge: how far checkpoints lie apart is said from one of them on") {
  RecommendAnswer answer = answer_of_slots();
  rows_of_pick(answer).checkpoint_step_tokens = 1024;
  const auto step = [&] {
    const Table table = candidates_table(answer);
    const auto column = std::find_if(table.columns().begin(), table.columns().end(),
                                     [](const Column& one) { return one.name == "checkpoint_min_step"; });
    REQUIRE(column != table.columns().end());
    return raw_cell(table.rows()[answer.result.pick][static_cast<std::size_t>(column - table.columns().begin())]);
  };
  rows_of_pick(answer).checkpoints = 1;
  CHECK(step() == "1024");
  rows_of_pick(answer).checkpoints = 0;
  CHECK(step().empty());
}
