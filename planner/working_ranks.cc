#include "planner/working_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "planner/spec_plans.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_ranks = 1'024;

/// Why such settings cannot be planned, empty where they can.
std::string refusal_of(const std::function<void(const EngineSpec&)>& plan, const EngineSpec& engine) {
  try {
    plan(engine);
    return {};
  } catch (const SpecError& refusal) {
    return refusal.what();
  }
}

}  // namespace

std::vector<std::int64_t> ranks_that_share(const ModelSpec& model, const EngineSpec& engine, std::size_t most) {
  std::vector<std::int64_t> ranks;
  EngineSpec tried = engine;
  for (tried.tensor_parallel = 1; tried.tensor_parallel <= most_ranks && ranks.size() < most; ++tried.tensor_parallel) {
    try {
      make_specs(model, tried, nullptr);
      ranks.push_back(tried.tensor_parallel);
    } catch (const SpecError&) {
    }
  }
  return ranks;
}

SpecError with_working_ranks(const SpecError& refusal, const ModelSpec& model, const EngineSpec& engine,
                             const std::function<void(const EngineSpec&)>& plan) {
  EngineSpec tried = engine;
  std::vector<std::int64_t> working;
  std::string otherwise_refused;
  for (const std::int64_t ranks : ranks_that_share(model, engine)) {
    tried.tensor_parallel = ranks;
    const std::string why = refusal_of(plan, tried);
    if (why.empty()) working.push_back(ranks);
    else otherwise_refused = fmt::format("; no number of ranks can be planned, {} neither: {}", ranks, why);
  }
  std::string message = refusal.message().substr(0, refusal.message().find("; take "));
  message += working.empty() ? otherwise_refused : fmt::format("; take {}", fmt::join(working, ", "));
  EngineSpec padded = engine;
  padded.pad_heads = true;
  if (!engine.pad_heads && refusal_of(plan, padded).empty())
    message += "; or set engine.pad_heads to true, where the engine pads what ranks cannot share";
  return {refusal.path(), message};
}

}  // namespace hybridkv
