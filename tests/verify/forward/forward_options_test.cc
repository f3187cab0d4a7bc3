// Options of a recurrence that change what it computes and no size: a model that has them runs through its pages with
// them, and they reach the network.
#include <doctest/doctest.h>

#include <cmath>

#include "planner/plan.h"
#include "tests/verify/forward/forward_models.h"
#include "verify/forward/forward.h"
#include "verify/forward/forward_dense.h"
#include "verify/scaled_model.h"

namespace hybridkv {
namespace {

using testing::small_hybrid;

struct Option {
  const char* name;
  RecurrentSpec with, without;
};

std::vector<Option> options() {
  return {{"doubled_beta", GdnSpec{2, 4, 16, 16, 4, true}, GdnSpec{2, 4, 16, 16, 4}},
          {"log_decay_limit", KdaSpec{2, 16, 4, false, 5}, KdaSpec{2, 16, 4, false}},
          {"log_decay_limit, drafts", KdaSpec{2, 16, 4, true, 5}, KdaSpec{2, 16, 4, true}}};
}

std::vector<double> dense(const RecurrentSpec& recurrent, std::int64_t scale) {
  const ModelSpec model = scaled_model(small_hybrid(recurrent, DType::fp32), scale);
  EngineSpec engine;
  engine.num_blocks = 16;
  std::vector<std::uint64_t> contents;
  for (std::uint64_t i = 0; i < 40; ++i) contents.push_back(i);
  return dense_forward(make_network(model, make_plan(model, engine, {.max_model_lens = {1024}}), 16, 1), contents).rows;
}

TEST_CASE("law: layers with an option compute through pages what they compute without them") {
  for (const Option& option : options())
    for (const std::int64_t pack : {1, 3}) {
      CAPTURE(option.name);
      CAPTURE(pack);
      ForwardSpec spec;
      spec.scale = 1;
      EngineSpec engine;
      engine.attention_pack_size = pack;
      const ForwardReport report = verify_forward(small_hybrid(option.with, DType::fp32), engine, spec);
      CHECK(report.passed());
      CHECK(report.first_failure() == nullptr);
    }
}

TEST_CASE("fault: a network that forgot the option would give another output, scaled too") {
  for (const Option& option : options())
    for (const std::int64_t scale : {1, 2}) {
      CAPTURE(option.name);
      const std::vector<double> with = dense(option.with, scale), without = dense(option.without, scale);
      double largest = 0;
      for (std::size_t i = 0; i < with.size(); ++i) largest = std::max(largest, std::abs(with[i] - without[i]));
      CHECK(largest > 1e-2);
    }
}

}  // namespace
}  // namespace hybridkv
