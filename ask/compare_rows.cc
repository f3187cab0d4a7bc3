#include "ask/compare_rows.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/checked.h"
#include "base/number_text.h"
#include "planner/demand.h"
#include "planner/evidence.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

using Setting = PlannedSetting;

/// The layers that a comparison is about; those of the first spec where nothing is kept token by token.
const SpecPlan& leading_spec(const CachePlan& plan) {
  const SpecPlan* const attention = primary_attention(plan);
  return attention != nullptr ? *attention : plan.specs.front();
}

/// The layers whose padding decides.
const SpecPlan& padded_spec(const CachePlan& plan) {
  const SpecPlan* const state = largest_state(plan);
  return state != nullptr ? *state : leading_spec(plan);
}

const ArenaPlan& leading_arena(const CachePlan& plan) { return plan.arena_of(primary_group(plan)); }

ComparedValue order_of(const Setting& setting) {
  if (setting.plan.cache_order) return std::string(to_string(*setting.plan.cache_order));
  const SpecPlan& spec = leading_spec(setting.plan);
  if (!spec.attention) return {};
  return std::string(to_string(spec.attention->order));
}

std::int64_t num_tables(const CachePlan& plan) {
  return std::count_if(plan.groups.begin(), plan.groups.end(),
                       [](const GroupPlan& group) { return !group.shares_table; });
}

std::function<std::string(const Setting&)> always(std::string symbol) {
  return [symbol = std::move(symbol)](const Setting&) { return symbol; };
}

/// The first of these symbols that something is decided of; empty where nothing is.
std::string first_decided(const Setting& setting, std::initializer_list<std::string> symbols) {
  for (const std::string& symbol : symbols)
    if (std::any_of(setting.plan.derivation.begin(), setting.plan.derivation.end(),
                    [&](const Decision& decision) { return decision.result.symbol == symbol; }))
      return symbol;
  return {};
}

/// The first where all ids are blocks, else the second and the name of the arena.
std::function<std::string(const Setting&)> of_arena(std::string only, std::string among) {
  return [only = std::move(only), among = std::move(among)](const Setting& setting) {
    return first_decided(setting, {only, among + leading_arena(setting.plan).name});
  };
}

/// Pages of one size have a rule of their own; others are those of their layers, or what these need.
std::string page_symbol(const Setting& setting) {
  const std::string label = spec_label(leading_spec(setting.plan));
  return first_decided(setting, {"P", "page of " + label, "unpadded page of " + label});
}

std::string block_bytes_symbol(const Setting& setting) {
  return first_decided(setting, {"bytes of a block id", "W", "bytes of an id of " + leading_arena(setting.plan).name});
}

auto ids_for(std::int64_t IdsByCause::*cause) {
  return [cause](const Setting& setting) { return ComparedValue(setting.capacity.ids_by_cause.*cause); };
}

auto of_capacity(auto CapacityPlan::*field) {
  return [field](const Setting& setting) { return ComparedValue(setting.capacity.*field); };
}

auto of_plan(std::int64_t CachePlan::*field) {
  return [field](const Setting& setting) { return ComparedValue(setting.plan.*field); };
}

/// The decision about the ids for one cause, at the compared length.
std::function<std::string(const Setting&)> ids_decided(const char* cause) {
  return [cause](const Setting& setting) {
    return fmt::format("ids for {} at {}", cause, human_plural(setting.capacity.max_model_len, "token"));
  };
}

/// What is left of the ids that requests can get when as many of them run as fit: where there are several arenas, what
/// one has to spare while another is full.
std::int64_t idle_bytes_when_full(const CachePlan& plan, const CapacityPlan& capacity) {
  const auto requests = static_cast<std::int64_t>(std::floor(capacity.usable_concurrency));
  return Checked(bytes_of(plan, usable_ids(plan))) - Checked(requests) * capacity.bytes_per_request;
}

std::vector<CompareRow> settings_rows() {
  return {
      {"model", "model", "", "model", [](const Setting& s) { return ComparedValue(s.scenario.model.name); }, {}},
      {"release", "release", "", "engine.release",
       [](const Setting& s) { return ComparedValue(std::string(s.plan.rules->name)); }, {}},
      {"evidence", "rules", "", "engine.release",
       [](const Setting& s) { return ComparedValue(std::string(to_string(evidence_of(s.plan)))); }, {}},
      {"backend_profile", "backend profile", "", "engine.backend_profile",
       [](const Setting& s) {
         const auto& profile = s.plan.backend_profile;
         return profile ? ComparedValue(std::string(to_string(*profile))) : ComparedValue();
       },
       {}},
      {"strategy", "strategy", "", "engine.strategy",
       [](const Setting& s) { return ComparedValue(std::string(to_string(s.plan.strategy))); }, {}},
      {"physical_order", "order", "", "engine.physical_order", order_of,
       [](const Setting& s) { return std::string(s.plan.cache_order ? "order" : ""); }},
      {"cache_mode", "mode", "", "engine.cache_mode",
       [](const Setting& s) { return ComparedValue(std::string(to_string(s.plan.cache_mode))); }, {}},
      {"tensor_parallel", "ranks", "", "engine.tensor_parallel",
       [](const Setting& s) { return ComparedValue(s.scenario.engine.tensor_parallel); }, always("TP")},
      {"attention_pack_size", "N", "", "engine.attention_pack_size", of_plan(&CachePlan::attention_pack_size),
       always("N")},
      {"speculative_tokens", "drafts", "tokens", "engine.speculative_tokens", of_plan(&CachePlan::speculative_tokens),
       always("s")},
      {"memory_bytes", "memory", "bytes", "engine.memory",
       [](const Setting& s) { return ComparedValue(s.plan.memory_bytes()); }, always("memory")},
      {"max_model_len", "longest length", "tokens", "limits.max_model_len",
       of_capacity(&CapacityPlan::max_model_len), always("length")},
  };
}

std::vector<CompareRow> layout_rows() {
  return {
      {"block_size_tokens", "block", "tokens", "",
       [](const Setting& s) { return ComparedValue(leading_spec(s.plan).block_size_tokens); },
       [](const Setting& s) { return "block of " + spec_label(leading_spec(s.plan)); }},
      {"kernel_block_size_tokens", "kernel block", "tokens", "",
       [](const Setting& s) { return ComparedValue(leading_spec(s.plan).kernel_block_size_tokens); },
       [](const Setting& s) { return "kernel block of " + spec_label(leading_spec(s.plan)); }},
      {"page_bytes", "page", "bytes", "",
       [](const Setting& s) { return ComparedValue(s.plan.page_bytes(primary_group(s.plan))); },
       page_symbol},
      {"padding_percent", "padding", "%", "",
       [](const Setting& s) { return ComparedValue(padded_spec(s.plan).padding_percent); },
       [](const Setting& s) { return "padding of " + spec_label(padded_spec(s.plan)); }},
      {"groups", "groups", "", "", [](const Setting& s) { return ComparedValue(num_tables(s.plan)); },
       [](const Setting& s) { return first_decided(s, {"groups of " + spec_label(padded_spec(s.plan)), "g"}); },
       "groups with a table of their own, of all kinds of layers together"},
      {"bytes_per_block", "bytes of a block", "bytes", "",
       [](const Setting& s) { return ComparedValue(leading_arena(s.plan).bytes_per_id); },
       block_bytes_symbol},
      {"num_blocks", "blocks", "", "", [](const Setting& s) { return ComparedValue(leading_arena(s.plan).num_ids); },
       of_arena("num_blocks", "ids of ")},
      {"usable_blocks", "usable blocks", "", "",
       [](const Setting& s) { return ComparedValue(leading_arena(s.plan).usable_ids()); },
       of_arena("usable blocks", "usable ids of ")},
  };
}

std::vector<CompareRow> request_rows() {
  return {
      {"blocks_per_request", "ids of a request", "ids", "", of_capacity(&CapacityPlan::blocks_per_request),
       always("block ids of one request")},
      {"ids_for_tokens", "- for tokens", "ids", "", ids_for(&IdsByCause::tokens), ids_decided("tokens")},
      {"ids_for_states", "- for states", "ids", "", ids_for(&IdsByCause::states), ids_decided("states")},
      {"ids_for_drafts", "- for states of drafts", "ids", "", ids_for(&IdsByCause::speculative),
       ids_decided("speculative states")},
      {"ids_for_checkpoints", "- for exported states", "ids", "", ids_for(&IdsByCause::checkpoints),
       ids_decided("exported checkpoints")},
      {"ids_in_flight", "- for steps in flight", "ids", "", ids_for(&IdsByCause::in_flight_window),
       ids_decided("tokens in flight of windows")},
      {"ids_for_extras", "- beside them", "ids", "", ids_for(&IdsByCause::other),
       ids_decided("what the model has beside")},
      {"bytes_per_request", "bytes of a request", "bytes", "", of_capacity(&CapacityPlan::bytes_per_request),
       always("bytes of one request")},
      {"ideal_bytes_per_request", "- ideally", "bytes", "", of_capacity(&CapacityPlan::ideal_bytes_per_request),
       always("ideal bytes of one request")},
      {"over_ideal_percent", "over ideal", "%", "",
       [](const Setting& s) { return ComparedValue(over_ideal_percent(s.capacity)); }, always("over ideal")},
      {"max_concurrency", "concurrency, printed", "", "", of_capacity(&CapacityPlan::max_concurrency),
       always("max concurrency")},
      {"usable_concurrency", "concurrency, usable", "", "", of_capacity(&CapacityPlan::usable_concurrency),
       always("usable concurrency")},
      {"ideal_concurrency", "- ideally", "", "",
       [](const Setting& s) {
         return ComparedValue(static_cast<double>(s.plan.memory_bytes()) /
                              static_cast<double>(s.capacity.ideal_bytes_per_request));
       },
       always("ideal bytes of one request"), "requests = memory / ideal bytes of one request",
       {{"memory_bytes", "memory"}, {"ideal_bytes_per_request", "ideal bytes of one request"}}},
      {"kv_cache_tokens", "KV cache tokens", "tokens", "", of_capacity(&CapacityPlan::kv_cache_tokens),
       always("KV cache tokens")},
  };
}

std::vector<CompareRow> limit_rows() {
  const auto lost = [](std::int64_t LoadWaste::*bytes) {
    return [bytes](const Setting& s) { return ComparedValue(s.plan.waste.at_load.*bytes); };
  };
  const auto at_load = [](std::int64_t (*bytes)(const LoadWaste&)) {
    return [bytes](const Setting& s) { return ComparedValue(bytes(s.plan.waste.at_load)); };
  };
  return {
      {"max_fitting_tokens", "longest request", "tokens", "", of_plan(&CachePlan::max_fitting_tokens),
       always("longest request")},
      {"max_running_requests", "running requests", "", "", of_plan(&CachePlan::max_running_requests),
       always("running requests")},
      {"match_unit_tokens", "match unit", "tokens", "",
       [](const Setting& s) { return ComparedValue(s.plan.prefix.match_unit_tokens); }, always("match unit")},
      {"min_cacheable_prefix_tokens", "shortest prefix", "tokens", "",
       [](const Setting& s) {
         const auto& shortest = s.plan.prefix.min_cacheable_prefix_tokens;
         return shortest ? ComparedValue(*shortest) : ComparedValue();
       },
       always("smallest prefix that can hit")},
      {"used_bytes_at_load", "used at load", "bytes", "",
       at_load([](const LoadWaste& load) { return load.used_bytes(); }), always("used at the load")},
      {"wasted_bytes_at_load", "wasted at load", "bytes", "",
       at_load([](const LoadWaste& load) { return load.wasted_bytes(); }), always("wasted at the load")},
      {"state_padding_bytes_at_load", "- by state padding", "bytes", "", lost(&LoadWaste::state_padding_bytes),
       always("state padding at the load")},
      {"attention_padding_bytes_at_load", "- by KV padding", "bytes", "",
       lost(&LoadWaste::attention_padding_bytes), always("attention padding at the load")},
      {"tail_bytes_at_load", "- by tails of blocks", "bytes", "", lost(&LoadWaste::block_tail_bytes),
       always("tails of last blocks at the load")},
      {"empty_slot_bytes_at_load", "- by empty slots", "bytes", "", lost(&LoadWaste::empty_slot_bytes),
       always("empty slots at the load")},
      {"short_pack_bytes_at_load", "- by short packs", "bytes", "", lost(&LoadWaste::short_pack_bytes),
       always("short last packs at the load")},
      {"idle_bytes_when_full", "idle when full", "bytes", "",
       [](const Setting& s) { return ComparedValue(idle_bytes_when_full(s.plan, s.capacity)); },
       always("usable concurrency"),
       "bytes of the usable ids - floor(usable concurrency) * bytes of one request",
       {{"usable_blocks", "usable ids"}, {"bytes_per_block", "bytes of an id"},
        {"usable_concurrency", "usable concurrency"}, {"bytes_per_request", "bytes of one request"}}},
      {"null_block_bytes", "reserved", "bytes", "", lost(&LoadWaste::null_block_bytes),
       always("null block at the load")},
      {"unallocated_bytes", "unallocated", "bytes", "",
       [](const Setting& s) { return ComparedValue(s.plan.waste.unallocated_bytes); }, always("unallocated")},
  };
}

}  // namespace

std::span<const CompareRow> compare_rows() {
  static const std::vector<CompareRow> rows = [] {
    std::vector<CompareRow> all = settings_rows();
    for (auto& more : {layout_rows(), request_rows(), limit_rows()}) all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return rows;
}

}  // namespace hybridkv
