#include "planner/pack_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "layout/error.h"

namespace hybridkv {

namespace {

const CapacityPlan& at_longest(const CachePlan& plan) {
  return *std::max_element(
      plan.capacity.begin(), plan.capacity.end(),
      [](const CapacityPlan& a, const CapacityPlan& b) { return a.max_model_len < b.max_model_len; });
}

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

/// Bytes of one request that no token and no state of it uses, split by cause.
std::string costs_text(const CachePlan& plan) {
  const CapacityPlan& capacity = at_longest(plan);
  std::int64_t short_packs = 0;
  std::int64_t slots = 0;
  for (const BlockWaste& waste : plan.waste.per_block) {
    short_packs += waste.short_pack_bytes;
    slots += waste.empty_slot_bytes;
  }
  std::string text = fmt::format("{} ids of {:.2f} MiB", capacity.blocks_per_request,
                                 mib(capacity.bytes_per_request / capacity.blocks_per_request));
  if (short_packs == 0 && slots == 0) text += ", no short pack and no empty slot";
  if (short_packs > 0) text += ", a short last pack";
  if (slots > 0) text += ", empty slots in short groups";
  return text;
}

const SpecPlan* packed_spec(const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention && !spec.draft) return &spec;
  return nullptr;
}

std::int64_t block_tokens(const CachePlan& plan) {
  const SpecPlan* spec = packed_spec(plan);
  return spec ? spec->block_size_tokens : plan.prefix.match_unit_tokens;
}

/// What a user wants small.
auto costs(const CachePlan& plan) {
  const CapacityPlan& capacity = at_longest(plan);
  return std::tuple(block_tokens(plan), capacity.bytes_per_request, -capacity.usable_concurrency);
}

bool beats(const CachePlan& a, const CachePlan& b) {
  const auto [a_block, a_bytes, a_concurrency] = costs(a);
  const auto [b_block, b_bytes, b_concurrency] = costs(b);
  return a_block <= b_block && a_bytes <= b_bytes && a_concurrency <= b_concurrency && costs(a) != costs(b);
}

std::string beaten_text(const CachePlan& better, const CachePlan& worse) {
  const CapacityPlan& b = at_longest(better);
  const CapacityPlan& w = at_longest(worse);
  return fmt::format("N = {} beats N = {} in every respect: block {} against {} tokens, {:.1f} against {:.1f} MiB per "
                     "request of {} tokens, concurrency {:.2f} against {:.2f}",
                     better.attention_pack_size, worse.attention_pack_size, block_tokens(better), block_tokens(worse),
                     mib(b.bytes_per_request), mib(w.bytes_per_request), b.max_model_len, b.usable_concurrency,
                     w.usable_concurrency);
}

std::string best_text(std::span<const CachePlan> plans, std::size_t best) {
  const CachePlan& plan = plans[best];
  const CapacityPlan& capacity = at_longest(plan);
  std::string text = fmt::format("N = {} costs fewest bytes per request of {} tokens in mode {}: {:.1f} MiB ({}",
                                 plan.attention_pack_size, capacity.max_model_len, to_string(plan.cache_mode),
                                 mib(capacity.bytes_per_request), costs_text(plan));
  const SpecPlan* spec = packed_spec(plan);
  if (spec != nullptr && plan.attention_pack_size > 1 && spec->layers.size() % spec->layers_per_page == 0)
    text += fmt::format("; {} divides the {} attention layers", spec->layers_per_page, spec->layers.size());
  text += ")";
  const std::size_t first = 0;
  if (best != first) {
    const CapacityPlan& default_capacity = at_longest(plans[first]);
    text += fmt::format(", against {:.1f} MiB at N = {} ({})", mib(default_capacity.bytes_per_request),
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
      return std::tuple(at_longest(plan).bytes_per_request, block_tokens(plan));
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
