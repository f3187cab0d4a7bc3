#include "ask/compare/compare_rows.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "ask/plan_figures.h"
#include "base/checked.h"
#include "base/number_text.h"
#include "planner/demand.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

using RowSetting = PlannedSetting;

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

ComparedValue order_of(const RowSetting& setting) {
  if (setting.plan.cache_order) return std::string(to_string(*setting.plan.cache_order));
  const SpecPlan& spec = leading_spec(setting.plan);
  if (!spec.attention) return {};
  return std::string(to_string(spec.attention->order));
}

std::int64_t num_tables(const CachePlan& plan) {
  return std::count_if(plan.groups.begin(), plan.groups.end(),
                       [](const GroupPlan& group) { return !group.shares_table; });
}

std::function<std::string(const RowSetting&)> always(std::string symbol) {
  return [symbol = std::move(symbol)](const RowSetting&) { return symbol; };
}

/// The first of these symbols that something is decided of; empty where nothing is.
std::string first_decided(const RowSetting& setting, std::initializer_list<std::string> symbols) {
  for (const std::string& symbol : symbols)
    if (std::any_of(setting.plan.derivation.begin(), setting.plan.derivation.end(),
                    [&](const Decision& decision) { return decision.result.symbol == symbol; }))
      return symbol;
  return {};
}

/// The symbol `only` where all ids are blocks; otherwise `among`, followed by the name of the arena.
std::function<std::string(const RowSetting&)> of_arena(std::string only, std::string among) {
  return [only = std::move(only), among = std::move(among)](const RowSetting& setting) {
    return first_decided(setting, {only, among + leading_arena(setting.plan).name});
  };
}

/// The symbol of the page: pages of one size have a decision of their own, other pages are sized for the layers in
/// them.
std::string page_symbol(const RowSetting& setting) {
  const std::string label = spec_label(leading_spec(setting.plan));
  return first_decided(setting, {"P", "page of " + label, "unpadded page of " + label});
}

std::string block_bytes_symbol(const RowSetting& setting) {
  return first_decided(setting, {"bytes of a block id", "W", "bytes of an id of " + leading_arena(setting.plan).name});
}

/// The decision about the ids for one cause, at the compared length.
std::function<std::string(const RowSetting&)> ids_decided(const char* cause) {
  return [cause](const RowSetting& setting) {
    return fmt::format("ids for {} at {}", cause, human_plural(setting.capacity.max_model_len, "token"));
  };
}

/// What is left of the ids that requests can get when as many of them run as fit: where there are several arenas, what
/// one has to spare while another is full.
std::int64_t idle_bytes_when_full(const CachePlan& plan, const CapacityPlan& capacity) {
  const auto requests = static_cast<std::int64_t>(std::floor(capacity.usable_concurrency));
  return Checked(bytes_of(plan, usable_ids(plan))) - Checked(requests) * capacity.bytes_per_request;
}

/// A figure of the plan under its own name, and what is decided where it comes to be.
CompareRow figure(std::string name, std::string title, std::function<std::string(const RowSetting&)> symbol = {},
                  std::string key = {}) {
  const PlanFigure& of_plan = plan_figure(name);
  return {std::move(name), std::move(title), std::string(of_plan.unit), std::move(key),
          [value = of_plan.value](const RowSetting& s) { return value({s.plan, s.capacity}); }, std::move(symbol)};
}

std::vector<CompareRow> settings_rows() {
  return {
      {"model", "model", "", "model", [](const RowSetting& s) { return ComparedValue(s.scenario.model.name); }, {}},
      figure("release", "release", {}, "engine.release"),
      figure("evidence", "rules", {}, "engine.release"),
      figure("backend_profile", "backend profile", {}, "engine.backend_profile"),
      figure("strategy", "strategy", {}, "engine.strategy"),
      {"physical_order", "order", "", "engine.physical_order", order_of,
       [](const RowSetting& s) { return std::string(s.plan.cache_order ? "order" : ""); }},
      figure("cache_mode", "mode", {}, "engine.cache_mode"),
      {"tensor_parallel", "ranks", "", "engine.tensor_parallel",
       [](const RowSetting& s) { return ComparedValue(s.scenario.engine.tensor_parallel); }, always("TP")},
      figure("attention_pack_size", "N", always("N"), "engine.attention_pack_size"),
      figure("speculative_tokens", "drafts", always("s"), "engine.speculative_tokens"),
      figure("memory_bytes", "memory", always("memory"), "engine.memory"),
      figure("max_model_len", "longest length", always("length"), "limits.max_model_len"),
  };
}

std::vector<CompareRow> layout_rows() {
  return {
      {"block_size_tokens", "block", "tokens", "",
       [](const RowSetting& s) { return ComparedValue(leading_spec(s.plan).block_size_tokens); },
       [](const RowSetting& s) { return "block of " + spec_label(leading_spec(s.plan)); }},
      {"kernel_block_size_tokens", "kernel block", "tokens", "",
       [](const RowSetting& s) { return ComparedValue(leading_spec(s.plan).kernel_block_size_tokens); },
       [](const RowSetting& s) { return "kernel block of " + spec_label(leading_spec(s.plan)); }},
      figure("page_bytes", "page", page_symbol),
      {"padding_percent", "padding", "%", "",
       [](const RowSetting& s) { return ComparedValue(padded_spec(s.plan).padding_percent); },
       [](const RowSetting& s) { return "padding of " + spec_label(padded_spec(s.plan)); }},
      {"groups", "groups", "", "", [](const RowSetting& s) { return ComparedValue(num_tables(s.plan)); },
       [](const RowSetting& s) { return first_decided(s, {"groups of " + spec_label(padded_spec(s.plan)), "g"}); },
       "groups with a table of their own, of all kinds of layers together"},
      figure("bytes_per_block", "bytes of a block", block_bytes_symbol),
      figure("num_blocks", "blocks", of_arena("num_blocks", "ids of ")),
      figure("usable_blocks", "usable blocks", of_arena("usable blocks", "usable ids of ")),
  };
}

std::vector<CompareRow> request_rows() {
  return {
      figure("blocks_per_request", "ids of a request", always("block ids of one request")),
      figure("ids_for_tokens", "- for tokens", ids_decided("tokens")),
      figure("ids_for_states", "- for states", ids_decided("states")),
      figure("ids_for_drafts", "- for states of drafts", ids_decided("speculative states")),
      figure("ids_for_checkpoints", "- for exported states", ids_decided("exported checkpoints")),
      figure("ids_in_flight", "- for steps in flight", ids_decided("tokens in flight of windows")),
      figure("ids_for_extras", "- beside them", ids_decided("what the model has beside")),
      figure("ids_for_encoder", "- for the encoder", ids_decided("the encoder's tokens")),
      figure("bytes_per_request", "bytes of a request", always("bytes of one request")),
      figure("ideal_bytes_per_request", "- ideally", always("ideal bytes of one request")),
      figure("over_ideal_percent", "over ideal", always("over ideal")),
      figure("max_concurrency", "concurrency, printed", always("max concurrency")),
      figure("usable_concurrency", "concurrency, usable", always("usable concurrency")),
      {"ideal_concurrency", "- ideally", "", "",
       [](const RowSetting& s) {
         return ComparedValue(static_cast<double>(s.plan.memory_bytes()) /
                              static_cast<double>(s.capacity.ideal_bytes_per_request));
       },
       always("ideal bytes of one request"), "requests = memory / ideal bytes of one request",
       {{"memory_bytes", "memory"}, {"ideal_bytes_per_request", "ideal bytes of one request"}}},
      figure("kv_cache_tokens", "KV cache tokens", always("KV cache tokens")),
  };
}

std::vector<CompareRow> limit_rows() {
  return {
      figure("max_fitting_tokens", "longest request", always("longest request")),
      figure("max_running_requests", "running requests", always("running requests")),
      figure("match_unit_tokens", "match unit", always("match unit")),
      figure("min_cacheable_prefix_tokens", "shortest prefix", always("smallest prefix that can hit")),
      figure("used_bytes_at_load", "used at load", always("used at the load")),
      figure("wasted_bytes_at_load", "wasted at load", always("wasted at the load")),
      figure("state_padding_bytes_at_load", "- by state padding", always("state padding at the load")),
      figure("attention_padding_bytes_at_load", "- by KV padding", always("attention padding at the load")),
      figure("tail_bytes_at_load", "- by tails of blocks", always("tails of last blocks at the load")),
      figure("empty_slot_bytes_at_load", "- by empty slots", always("empty slots at the load")),
      figure("short_pack_bytes_at_load", "- by short packs", always("short last packs at the load")),
      {"idle_bytes_when_full", "idle when full", "bytes", "",
       [](const RowSetting& s) { return ComparedValue(idle_bytes_when_full(s.plan, s.capacity)); },
       always("usable concurrency"),
       "bytes of the usable ids - floor(usable concurrency) * bytes of one request",
       {{"usable_blocks", "usable ids"}, {"bytes_per_block", "bytes of an id"},
        {"usable_concurrency", "usable concurrency"}, {"bytes_per_request", "bytes of one request"}}},
      figure("null_block_bytes", "reserved", always("null block at the load")),
      figure("unallocated_bytes", "unallocated", always("unallocated")),
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
