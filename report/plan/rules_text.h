#pragma once

#include <optional>
#include <string>

#include "ask/release_glance.h"
#include "planner/cache_plan.h"
#include "planner/engine_spec.h"

namespace hybridkv {

/// Whose rules these are, for the header of every output: "vLLM 0.33.0, backends of sm90 (FlashAttention)";
/// a release whose rules were only read says so.
std::string rules_text(const EngineRules& rules, std::optional<BackendProfile> profile);

/// The same of a plan, with a word where it is without attention, with which no engine was run.
std::string rules_text(const CachePlan& plan);

/// The same of what was asked, with a word where it is in no release: packs of N > 1.
std::string rules_text(const EngineSpec& engine);

/// "would print blocks of 2,112 tokens, …", or "would refuse: …".
std::string glance_text(const ReleaseGlance& glance);

}  // namespace hybridkv
