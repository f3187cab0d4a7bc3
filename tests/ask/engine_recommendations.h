#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ask/recommend_engines.h"
#include "tests/ask/asked.h"

namespace hybridkv::testing {

/// What a small search says under a release.
inline EngineRecommendation recommended(const std::string& release, std::vector<std::int64_t> packs = {}) {
  RecommendQuestion question;
  question.space.packs = std::move(packs);
  const std::string trace = "simulate: {trace: {max_requests: 40}}\n";
  return {release, recommend_scenario(small_scenario("  release: " + release + "\n", trace), question), {}};
}

/// The same with another number of tokens computed again by its pick, and of requests at once.
inline EngineRecommendation with_results(EngineRecommendation engine, double again, double at_once) {
  Objectives& objectives = engine.answer->result.candidates[engine.answer->result.pick].objectives;
  objectives.reprefilled_tokens = static_cast<std::int64_t>(again);
  objectives.concurrency = at_once;
  return engine;
}

}  // namespace hybridkv::testing
