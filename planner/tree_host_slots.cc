#include "planner/tree_host_slots.h"

#include <fmt/format.h>

#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "planner/tree_settings.h"

namespace hybridkv {

namespace {

constexpr double standard_host_ratio = 2.0;
constexpr double largest_host_ratio = 1e6;
constexpr double decimal_gigabyte = 1e9;

double host_ratio(const EngineSpec& engine) {
  const auto ratio = engine.own.find(tree_key::hicache_ratio);
  return ratio ? ratio->front() : standard_host_ratio;
}

/// A page more than what is asked for, as the engine rounds.
std::int64_t host_slots(const EngineSpec& engine, std::int64_t device_slots, std::int64_t slot_bytes,
                        std::int64_t page) {
  const auto gigabytes = engine.own.find(tree_key::hicache_size);
  const double slots =
      gigabytes ? std::floor(static_cast<double>(*gigabytes) * decimal_gigabyte / static_cast<double>(slot_bytes))
                : static_cast<double>(device_slots) * host_ratio(engine);
  if (!(slots < 0x1p62)) throw InputError("number too large for 64 bits: slots on the host");
  return (Checked(static_cast<std::int64_t>(slots) / page) + 1) * page;
}

void require_host(bool holds, const SettingKey& setting, const char* message) {
  if (!holds) throw SpecError(fmt::format("engine.{}", setting.name), message);
}

}  // namespace

void validate_tree_host(const EngineSpec& engine) {
  const auto ratio = engine.own.find(tree_key::hicache_ratio);
  const bool has_size = engine.own.find(tree_key::hicache_size).has_value();
  if (!engine.own[tree_key::enable_hierarchical_cache]) {
    const char* const alone = "is of the host tier; set engine.enable_hierarchical_cache, or leave it out";
    require_host(!ratio, tree_key::hicache_ratio, alone);
    require_host(!has_size, tree_key::hicache_size, alone);
    return;
  }
  require_host(engine.cache_mode != CacheMode::none, tree_key::enable_hierarchical_cache,
               "keeps prefixes of a radix tree, and engine.cache_mode is none; take align");
  require_host(!ratio || !has_size, tree_key::hicache_ratio, "engine.hicache_size stands in its place; leave one out");
  require_host(!ratio || (ratio->size() == 1 && ratio->front() > 1 && ratio->front() <= largest_host_ratio),
               tree_key::hicache_ratio, "must be one number above 1, at most 1000000");
}

TreeHost tree_host_slots(const EngineSpec& engine, const TreePools& pools) {
  if (!engine.own[tree_key::enable_hierarchical_cache]) return {};
  const std::int64_t page = pools.page_tokens, tokens = pools.split.token_slots;
  TreeHost host{.tokens = host_slots(engine, tokens, pools.token_bytes, page),
                .states = host_slots(engine, pools.split.state_slots, pools.state_slot_bytes, 1),
                .copies = engine.own[tree_key::hicache_write_policy]};
  if (host.tokens > tokens) return host;
  const std::string_view set =
      engine.own.find(tree_key::hicache_size) ? tree_key::hicache_size.name : tree_key::hicache_ratio.name;
  throw SpecError(fmt::format("engine.{}", set),
                  fmt::format("gives {} token slots on the host and the device has {}; the engine starts with more "
                              "there alone", host.tokens, tokens));
}

}  // namespace hybridkv
