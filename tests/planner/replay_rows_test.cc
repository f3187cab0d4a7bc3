// ReplaySSM of vLLM 0.33: the rows of inputs that lie beside a state, and what is derived of them.
#include "planner/replay_rows.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "planner/replay_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

/// What the derivation says of the tensors of the rows: "row of x_ring, spec 0 (mamba2)" and its number.
std::map<std::string, std::int64_t> derived_rows(const EngineSpec& engine) {
  std::map<std::string, std::int64_t> rows;
  const CachePlan plan = make_plan(testing::nemotron_nano_4b(), engine, {.max_model_lens = {8192}});
  for (const Decision& decision : plan.derivation) {
    const std::string& symbol = decision.result.symbol;
    const bool is_extent = symbol.find(" of ") != std::string::npos && !symbol.starts_with("byte offset") &&
                           symbol.find("_ring, spec 0 (mamba2)") != std::string::npos;
    if (is_extent) rows[symbol] = std::get<std::int64_t>(decision.result.value);
  }
  return rows;
}

}  // namespace

TEST_CASE("golden: every extent of the kept inputs is derived, from the settings and the state") {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .memory_bytes = 60 * testing::gib};
  CHECK(derived_rows(engine).empty());
  engine.own.set(replay_key::use_replayssm, true);
  // 16 tokens unless it is set. 96 heads of 80 channels, states of 128, 8 groups: as the model says.
  std::map<std::string, std::int64_t> expected{{"row of x_ring, spec 0 (mamba2)", 16},
                                               {"head of x_ring, spec 0 (mamba2)", 96},
                                               {"dim of x_ring, spec 0 (mamba2)", 80},
                                               {"row of dt_ring, spec 0 (mamba2)", 16},
                                               {"head of dt_ring, spec 0 (mamba2)", 96},
                                               {"row of b_ring, spec 0 (mamba2)", 16},
                                               {"group of b_ring, spec 0 (mamba2)", 8},
                                               {"state of b_ring, spec 0 (mamba2)", 128}};
  CHECK(derived_rows(engine) == expected);
  // FlashInfer's kernels keep the tokens of the step beside them: one, and three that are drafted.
  engine.own.set(replay_key::mamba_backend, StateKernels::flashinfer);
  engine.speculative_tokens = 3;
  for (auto& [symbol, extent] : expected)
    if (symbol.starts_with("row")) extent = 16 + 1 + 3;
  CHECK(derived_rows(engine) == expected);
}
