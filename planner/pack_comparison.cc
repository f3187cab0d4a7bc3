#include "planner/pack_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/number_text.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

const CapacityPlan& at_longest(const CachePlan& plan) {
  return *std::max_element(
      plan.capacity.begin(), plan.capacity.end(),
      [](const CapacityPlan& a, const CapacityPlan& b) { return a.max_model_len < b.max_model_len; });
}

/// Bytes of one request that no token and no state of it uses, split by cause.
std::string costs_text(const CachePlan& plan) {
  const CapacityPlan& capacity = at_longest(plan);
  std::int64_t short_packs = 0;
  std::int64_t positions = 0;
  for (const BlockWaste& waste : plan.waste.per_block) {
    short_packs += waste.short_pack_bytes;
    positions += waste.empty_position_bytes;
  }
  std::string text = fmt::format("{} of {}", human_plural(capacity.blocks_per_request, "id"),
                                 human_bytes(capacity.bytes_per_request / capacity.blocks_per_request));
  if (short_packs == 0 && positions == 0) text += ", no short pack and no empty slot";
  if (short_packs > 0) text += ", a short last pack";
  if (positions > 0) text += ", empty slots in short groups";
  return text;
}

/// The attention of the model, whose layers are packed.
std::vector<const SpecPlan*> packed_specs(const CachePlan& plan) {
  std::vector<const SpecPlan*> packed;
  for (const SpecPlan& spec : plan.specs)
    if (spec.role() == SpecRole::attention || spec.role() == SpecRole::window) packed.push_back(&spec);
  return packed;
}

/// "5 divides the 15 attention layers", of several kinds "2 divides the 10 full_attention and the 2 sliding_window
/// layers"; nothing where N is 1 or leaves a short pack in any of them.
std::string divides_text(const CachePlan& plan) {
  const std::vector<const SpecPlan*> packed = packed_specs(plan);
  const auto layers = [](const SpecPlan* spec) { return static_cast<std::int64_t>(spec->layers.size()); };
  const auto divided = [&](const SpecPlan* spec) { return layers(spec) % spec->layers_per_page == 0; };
  if (packed.empty() || plan.attention_pack_size == 1 || !std::all_of(packed.begin(), packed.end(), divided)) return {};
  std::string text = fmt::format("; {} divides the ", plan.attention_pack_size);
  if (packed.size() == 1) return text + human_count(layers(packed.front())) + " attention layers";
  for (std::size_t i = 0; i < packed.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : i + 1 < packed.size() ? ", the " : " and the ",
                        human_count(layers(packed[i])), packed[i]->kind);
  return text + " layers";
}

/// The three numbers of a plan that are better when smaller.
auto costs(const CachePlan& plan) {
  const CapacityPlan& capacity = at_longest(plan);
  return std::tuple(primary_block_tokens(plan), capacity.bytes_per_request, -capacity.usable_concurrency);
}

bool beats(const CachePlan& a, const CachePlan& b) {
  const auto [a_block, a_bytes, a_concurrency] = costs(a);
  const auto [b_block, b_bytes, b_concurrency] = costs(b);
  return a_block <= b_block && a_bytes <= b_bytes && a_concurrency <= b_concurrency && costs(a) != costs(b);
}

std::string beaten_text(const CachePlan& better, const CachePlan& worse) {
  const CapacityPlan& b = at_longest(better);
  const CapacityPlan& w = at_longest(worse);
  return fmt::format(
      "N = {} beats N = {} in every respect: block {} against {} tokens, {} against {} per request of {} "
      "tokens, {} against {} requests at once",
      better.attention_pack_size, worse.attention_pack_size, human_count(primary_block_tokens(better)),
      human_count(primary_block_tokens(worse)), human_bytes(b.bytes_per_request), human_bytes(w.bytes_per_request),
      human_count(b.max_model_len), human_real(b.usable_concurrency), human_real(w.usable_concurrency));
}

std::string best_text(std::span<const CachePlan> plans, std::size_t best) {
  const CachePlan& plan = plans[best];
  const CapacityPlan& capacity = at_longest(plan);
  std::string text = fmt::format("N = {} costs fewest bytes per request of {} tokens in mode {}: {} ({}",
                                 plan.attention_pack_size, human_count(capacity.max_model_len),
                                 to_string(plan.cache_mode), human_bytes(capacity.bytes_per_request), costs_text(plan));
  text += divides_text(plan) + ")";
  const std::size_t first = 0;
  if (best != first) {
    const CapacityPlan& default_capacity = at_longest(plans[first]);
    text += fmt::format(", against {} at N = {} ({})", human_bytes(default_capacity.bytes_per_request),
                        plans[first].attention_pack_size, costs_text(plans[first]));
  }
  return text + ".";
}

}  // namespace

PackComparison compare_packs(std::span<const CachePlan> plans) {
  expects(!plans.empty(), "at least one plan to compare");
  PackComparison comparison;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const auto key = [](const CachePlan& plan) {
      return std::tuple(at_longest(plan).bytes_per_request, primary_block_tokens(plan));
    };
    if (key(plans[i]) < key(plans[comparison.best])) comparison.best = i;
  }
  comparison.reason = best_text(plans, comparison.best);
  for (std::size_t worse = 0; worse < plans.size(); ++worse) {
    for (std::size_t better = 0; better < plans.size(); ++better) {
      if (!beats(plans[better], plans[worse])) continue;
      comparison.dominated.push_back({worse, better, beaten_text(plans[better], plans[worse])});
      break;
    }
  }
  return comparison;
}

}  // namespace hybridkv
