#include "planner/cache_orders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

using enum CacheOrder;
constexpr std::array any_backend{lbnhc, lbhnc, blnhc, blhnc, bhlnc, lhbnc};

std::vector<std::string_view> names(std::span<const CacheOrder> orders) {
  std::vector<std::string_view> texts;
  for (const CacheOrder order : orders) texts.push_back(to_string(order));
  return texts;
}

bool is_among(std::span<const CacheOrder> orders, CacheOrder order) {
  return std::find(orders.begin(), orders.end(), order) != orders.end();
}

}  // namespace

HeadPlaces head_places(const SpecPlan& spec) {
  if (spec.state) return {1, spec.state->bytes};
  const AttentionGeometry& attention = *spec.attention;
  const std::int64_t places_per_head = attention.format == KvFormat::nvfp4 ? 2 : 1;
  const std::int64_t heads = Checked(attention.kv_heads) * places_per_head;
  return {heads, spec.bytes_per_token / heads};
}

bool is_one_kind(std::span<const SpecPlan> specs) {
  return std::all_of(specs.begin(), specs.end(), [&](const SpecPlan& spec) {
    return spec.attention && (!spec.auxiliary || spec.is_indexer()) &&
           spec.block_size_tokens == specs.front().block_size_tokens &&
           spec.is_cross() == specs.front().is_cross() &&
           spec.attention->window_tokens == specs.front().attention->window_tokens;
  });
}

std::vector<CacheOrder> possible_orders(std::span<const SpecPlan> specs) {
  // The layers of a pack lie inside its page, and so inside a block.
  if (std::any_of(specs.begin(), specs.end(), [](const SpecPlan& spec) { return spec.layers_per_page > 1; }))
    return {blnhc, blhnc};
  const HeadPlaces first = head_places(specs.front());
  const bool uniform = std::all_of(specs.begin(), specs.end(), [&](const SpecPlan& spec) {
    const HeadPlaces places = head_places(spec);
    return !spec.auxiliary && spec.state.has_value() == specs.front().state.has_value() &&
           places.heads == first.heads && places.content_bytes == first.content_bytes &&
           spec.block_size_tokens == specs.front().block_size_tokens;
  });
  if (uniform) return {any_backend.begin(), any_backend.end()};
  const bool beside = std::any_of(specs.begin(), specs.end(), [](const SpecPlan& spec) {
    return spec.is_indexer() || spec.ring_tokens > 0;
  });
  if (beside && !is_one_kind(specs)) return {blnhc, blhnc};
  return {lbnhc, lbhnc, blnhc, blhnc};
}

CacheOrder choose_order(std::span<const SpecPlan> specs, const ModelSpec& model, const EngineSpec& engine,
                        const DerivationLog& log) {
  const std::vector<CacheOrder> possible = possible_orders(specs);
  // A profile says what backends of attention read; a state is read in any order.
  const bool attends =
      std::any_of(specs.begin(), specs.end(), [](const SpecPlan& spec) { return spec.attention.has_value(); });
  const std::span<const CacheOrder> read = engine.backend_profile && attends
                                               ? facts_of(*engine.backend_profile).orders
                                               : std::span<const CacheOrder>(any_backend);
  const std::span<const CacheOrder> of_model = model.cache_orders.empty() ? read : model.cache_orders;
  std::vector<CacheOrder> valid;
  for (const CacheOrder order : of_model)
    if (is_among(possible, order) && is_among(read, order)) valid.push_back(order);
  if (valid.empty() && engine.attention_pack_size > 1)
    throw SpecError("engine.attention_pack_size",
                    fmt::format("{} layers a page lie in {}, and the attention reads {}; take 1",
                                engine.attention_pack_size, fmt::join(names(possible), " or "),
                                fmt::join(names(of_model), ", ")));
  if (valid.empty() && !model.cache_orders.empty())
    throw SpecError("engine.backend_profile",
                    fmt::format("the model's attention reads {}, the profile's {}, its layers can lie in {}; take "
                                "another profile, or none",
                                fmt::join(names(of_model), ", "), fmt::join(names(read), ", "),
                                fmt::join(names(possible), ", ")));
  if (valid.empty())
    throw SpecError("engine.backend_profile",
                    fmt::format("its attention reads {}, layers of different shapes can lie in {}; take another "
                                "profile",
                                fmt::join(names(read), ", "), fmt::join(names(possible), ", ")));
  if (engine.cache_order && !is_among(valid, *engine.cache_order))
    throw SpecError("engine.physical_order",
                    fmt::format("{} is no order for these layers and their backends; valid: {}",
                                to_string(*engine.cache_order), fmt::join(names(valid), ", ")));
  const CacheOrder chosen = engine.cache_order.value_or(valid.front());
  log.add([&] {
    return Decision{{"order", std::string(to_string(chosen)), ""},
                    engine.cache_order ? "as set: one of those that layers and backends have"
                    : model.cache_orders.empty() ? "the first of the backend's orders that the layers have"
                                                 : "the first of the orders that the model's attention reads",
                    {{"valid", fmt::format("{}", fmt::join(names(valid), ", ")), ""}},
                    log.cite(RuleOf::cache_order)};
  });
  return chosen;
}

}  // namespace hybridkv
