#include "report/plan/rules_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/primary_attention.h"
#include "report/human.h"

namespace hybridkv {

std::string rules_text(const EngineRules& rules, std::optional<BackendProfile> profile) {
  std::string text(rules.title);
  if (rules.source_only) text += "; read, not run";
  if (profile) text += fmt::format(", backends of {} ({})", to_string(*profile), facts_of(*profile).backend);
  return text;
}

namespace {

/// What is supposed in place of the engine's rules, so that nobody takes the numbers for the engine's.
std::string supposed_text(const SupposedLayout& what_if) {
  if (what_if == SupposedLayout{}) return {};
  return fmt::format("; what if {}: modelled, in no release", fmt::join(supposed_texts(what_if), ", "));
}

}  // namespace

std::string rules_text(const CachePlan& plan) {
  std::string text = rules_text(*plan.rules, plan.backend_profile) + supposed_text(plan.what_if);
  if (!plan.rules->source_only && primary_attention(plan) == nullptr) text += "; without attention read, not run";
  return text;
}

std::string rules_text(const EngineSpec& engine) {
  std::string text = rules_text(*engine.rules, engine.backend_profile);
  if (engine.attention_pack_size > 1 && engine.rules->one_allocation)
    text += fmt::format("; N = {}: {}", human_count(engine.attention_pack_size),
                        engine.rules->builder.empty() ? "modelled, in no release" : "with a builder of ours");
  text += supposed_text(engine.what_if);
  return text;
}

std::string glance_text(const ReleaseGlance& glance) {
  if (!glance.refusal.empty()) return "would refuse: " + glance.refusal;
  const CapacityPlan& capacity = glance.capacity;
  std::string text =
      fmt::format("would print blocks of {}, {} requests of {} at once and {}, {} a request",
                  human_plural(glance.block_tokens, "token"), human_real(capacity.max_concurrency),
                  human_plural(capacity.max_model_len, "token"),
                  human_plural(capacity.kv_cache_tokens, "KV cache token"),
                  human_plural(capacity.blocks_per_request, "block id"));
  if (glance.mode) text += fmt::format("; mode {}", to_string(*glance.mode));
  return text + fmt::format("{} profile {}", glance.mode ? "," : ";", to_string(glance.profile));
}

}  // namespace hybridkv
