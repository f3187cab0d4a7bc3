#include "tests/report/derivation_lookup.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "planner/group_runs.h"
#include "planner/plan_facts.h"
#include "report/human.h"
#include "report/plan/plan_json.h"

namespace hybridkv::testing {

namespace {

using Json = nlohmann::ordered_json;

/// Reads the numbers of a plan's JSON beside its derivation.
class Lookup {
 public:
  explicit Lookup(const PlanSet& set) : plan_(set.plans.front()), json_(to_json(set)["plans"][0]) {
    for (const Decision& decision : plan_.derivation)
      if (!std::holds_alternative<std::string>(decision.result.value))
        values_[decision.result.symbol].push_back(decision.result.value);
    for (const char* key : {"specs", "groups", "pools", "extras", "arenas", "lanes", "capacity", "prefix", "waste",
                            "radix", "pool_groups", "sequence_rows", "tensors", "views", "workspace"})
      parts_.insert(key);
  }

  /// What is wrong: numbers without a derivation, or with another value.
  std::vector<std::string> missing() {
    // Ids of an only arena that is none of blocks are derived under the arena's name.
    if (!counts_blocks(plan_)) parts_.insert({"num_blocks", "usable_blocks", "bytes_per_block"});
    for (const auto& [key, value] : json_.items())
      if (!parts_.contains(key) && value.is_number()) require(key, plain(key), value);
    for (std::size_t i = 0; i < plan_.specs.size(); ++i) look_at_spec(json_["specs"][i], plan_.specs[i]);
    look_at_groups();
    look_at_pools();
    for (const Json& extra : json_["extras"])
      look_at(extra, {{"bytes_per_block", "bytes beside each block: " + extra["what"].get<std::string>()},
                      {"blocks_per_request", extra["what"].get<std::string>()}});
    for (std::size_t i = 0; i < plan_.capacity.size(); ++i) {
      look_at(json_["capacity"][i], capacity_, i);
      look_at_causes(json_["capacity"][i]);
    }
    look_at(json_["prefix"], {{"match_unit_tokens", "match unit"},
                              {"min_cacheable_prefix_tokens", "smallest prefix that can hit"},
                              {"duplicate_misses_up_to_tokens", "second copies hit nothing up to"},
                              {"duplicate_misses_multiples_of_tokens", "second copies hit nothing at multiples of"},
                              {"scheduler_block_tokens", "S"},
                              {"hash_block_tokens", "h"}});
    look_at_load();
    if (plan_.tree_pools) look_at_tree_pools(json_["radix"]);
    if (plan_.pool_groups)
      look_at(json_["pool_groups"], {{"grain_bytes", "grain"}, {"typical_tokens", "typical length"},
                                     {"typical_blocks", "blocks of a typical request"},
                                     {"typical_snapshots", "states of a typical request"},
                                     {"interval_tokens", "interval"}, {"max_requests", "requests of the engine"},
                                     {"dummy_requests", "dummy requests"}, {"grains", "grains"},
                                     {"borrowed_bytes", "bytes beyond the memory"}, {"least_bytes", "least memory"},
                                     {"estimate_bytes", "estimate before any token"},
                                     {"estimate_token_bytes", "estimate of a token"}});
    if (plan_.pool_groups && plan_.pool_groups->host.exists())
      look_at(json_["pool_groups"]["host"], {{"bytes", "bytes of the host"},
                                             {"borrowed_bytes", "bytes beyond host_cache_size"},
                                             {"blocks", "blocks of the host"}, {"states", "states of the host"}});
    if (plan_.rows)
      look_at(json_["sequence_rows"], {{"sequences", "sequences"}, {"rows_per_sequence", "rows of a sequence"},
                                       {"checkpoints", "host checkpoints of a sequence"},
                                       {"checkpoint_step_tokens", "step of host checkpoints"},
                                       {"checkpoint_bytes", "bytes of a host checkpoint"},
                                       {"cells", "cells"},
                                       {"slot_cells", "cells of a sequence"},
                                       {"batch_tokens", "tokens of a step"},
                                       {"step_tokens", "tokens of a pass"},
                                       {"window_tokens", "window of the cells"},
                                       {"saved_bytes", "host bytes of saved prompts"},
                                       {"least_similarity_percent", "least share of a prompt"},
                                       {"host_bytes", "host bytes of checkpoints"}});
    for (std::size_t i = 0; i < plan_.views.size(); ++i) look_at_view(json_["views"][i], plan_.views[i]);
    look_at(json_["workspace"], {{"full_bias_bytes", "full bias"}, {"chunked_bias_bytes", "chunked bias"},
                                 {"block_usage_bytes", "block usages"}});
    return missing_;
  }

 private:
  using Symbols = std::map<std::string, std::string>;

  static std::string plain(const std::string& key) {
    static const Symbols symbols{{"attention_pack_size", "N"}, {"speculative_tokens", "s"},
                                 {"max_num_batched_tokens", "batch"}, {"page_bytes", "P"}, {"num_blocks", "num_blocks"},
                                 {"usable_blocks", "usable blocks"}, {"bytes_per_block", "bytes of a block id"},
                                 {"concurrent_batches", "batches in flight"},
                                 {"lookahead_tokens", "tokens looked ahead"}, {"decode_context_parallel", "DCP"},
                                 {"max_fitting_tokens", "longest request"},
                                 {"max_running_requests", "running requests"},
                                 {"max_running_requests_by_states", "running requests by states"},
                                 {"one_token_request_bytes", "bytes of a request of one token"}};
    const auto found = symbols.find(key);
    return found == symbols.end() ? "" : found->second;
  }

  /// Every number of the object stands under its symbol, the `nth` decision of that name; identities are no quantities.
  void look_at(const Json& object, const Symbols& symbols, std::optional<std::size_t> nth = std::nullopt) {
    for (const auto& [key, value] : object.items()) {
      if (!value.is_number() || key == "id" || key == "group" || key == "spec" || key == "layer" || key == "pool" ||
          key == "arena" || key == "first_lane" || key == "lane" || key == "tensor")
        continue;
      const auto found = symbols.find(key);
      require(key, found == symbols.end() ? "" : found->second, value, nth);
    }
  }

  void look_at_spec(const Json& json, const SpecPlan& spec) {
    const std::string label = spec_label(spec);
    look_at(json, {{"block_size_tokens", "block of " + label}, {"kernel_block_size_tokens", "kernel block of " + label},
                   {"bytes_per_token", "a1 (" + spec.kind + ")"}, {"unpadded_page_bytes", "unpadded page of " + label},
                   {"padding_percent", "padding of " + label}, {"layers_per_page", "layers a page of " + label},
                   {"num_pages", "pages of " + label}, {"checkpoint_blocks", "checkpoint blocks of " + label},
                   {"ring_tokens", "tokens of " + label},
                   {"encoder_tokens", "encoder tokens of " + label},
                   {"tokens_per_entry", "tokens an entry of " + label}});
    require("layers", "layers of " + label, Json(spec.layers.size()));
    if (spec.attention)
      look_at(json["attention"], {{"query_heads", "query heads of " + label},
                                  {"kv_heads", "KV heads of " + label},
                                  {"head_size_k", "head_size_k of " + label},
                                  {"head_size_v", "head_size_v of " + label},
                                  {"window_tokens", "window of " + label}});
    if (!spec.state) return;
    look_at(json["state"], {{"bytes", "M (" + spec.kind + ")"}, {"padding_bytes", "gaps inside the state, " + label}});
    for (const Json& tensor : json["state"]["tensors"]) {
      const std::string of = " of " + tensor["name"].get<std::string>() + ", " + label;
      look_at(tensor, {{"byte_offset", "byte offset" + of}});
      for (std::size_t i = 0; i < tensor["shape"].size(); ++i)
        require("shape", tensor["axes"][i].get<std::string>() + of, tensor["shape"][i]);
    }
  }

  /// The causes of one length; none of a cause is nothing to derive.
  void look_at_causes(const Json& capacity) {
    static const Symbols causes{{"tokens", "tokens"}, {"states", "states"}, {"speculative", "speculative states"},
                                {"checkpoints", "exported checkpoints"},
                                {"in_flight_window", "tokens in flight of windows"},
                                {"other", "what the model has beside"},
                                {"encoder", "the encoder's tokens"}};
    const std::string at = " at " + human_plural(capacity["max_model_len"].get<std::int64_t>(), "token");
    for (const auto& [cause, ids] : capacity["ids_by_cause"].items())
      if (ids != 0) require(cause, "ids for " + causes.at(cause) + at, ids);
  }

  /// "of groups 1-3", as derivations call the groups that are alike with this one.
  std::string of_run(std::size_t group) const {
    for (const PlanRun& run : group_runs(plan_))
      if (group >= run.first && group < run.first + run.count)
        return fmt::format(" of group{} {}", run.count > 1 ? "s" : "", run.numbers());
    return "";
  }

  /// Lanes and tensors of one allocation: a page of a group begins so many layer strides behind the first.
  void look_at_allocation() {
    const Json& lanes = json_["arenas"][0]["lanes"];
    std::size_t tensor = 0;
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
      const GroupPlan& group = plan_.groups[g];
      if (group.pages.empty()) continue;
      const std::string of = of_run(g);
      look_at(json_["tensors"][tensor++], {{"layer_stride", "layer stride" + of}, {"block_stride", "block stride" + of},
                                           {"offset_bytes", "offset" + of}, {"size_bytes", "bytes of a pool"}});
      for (std::size_t page = 0; page < group.pages.size(); ++page) {
        const Json& lane = lanes[plan_.lane_of(group, page).index()];
        require("stride_bytes", group.in_lane ? "W" : "block stride" + of, lane["stride_bytes"]);
        require("bytes", group.in_lane ? "W" : "bytes of a piece" + of, lane["bytes"]);
        const std::int64_t offset =
            group.in_lane ? 0
                          : whole("offset" + of) + static_cast<std::int64_t>(page) * whole("layer stride" + of);
        if (lane["offset_bytes"] != offset) missing_.push_back(fmt::format("offset of lane {} of group {}", page, g));
      }
      if (group.in_lane)
        look_at(json_["groups"][g]["in_lane"],
                {{"offset_bytes", "first byte in a block" + of}, {"bytes", "page" + of}});
    }
  }

  /// The pool of compact slots or large pages: lanes of one arena lie behind each other.
  void look_at_shared_pool() {
    const bool large = plan_.strategy == Strategy::two_level;
    look_at(json_["pools"][0],
            {{"bytes", "bytes of the allocation"},
             {"page_bytes", large ? "large page" : "page of " + spec_label(plan_.spec_of(plan_.groups[0]))}});
    for (std::size_t g = 0; g < plan_.groups.size(); ++g)
      if (plan_.groups[g].in_lane)
        look_at(json_["groups"][g]["in_lane"],
                {{"offset_bytes", "first byte in an entry" + of_run(g)}, {"bytes", "page" + of_run(g)}});
    std::map<std::string, std::int64_t> number;
    for (const Json& lane : json_["lanes"]) {
      const std::string& name = plan_.arenas[lane["arena"].get<std::size_t>()].name;
      require("stride", "bytes of a piece of " + name, lane["stride"]);
      require("bytes", "bytes of a piece of " + name, lane["bytes"]);
      const std::int64_t offset =
          whole("first byte of " + name) + number[name]++ * whole("bytes of a lane of " + name);
      if (lane["offset"] != offset) missing_.push_back("offset of a lane of " + name);
    }
  }

  void look_at_pools() {
    for (const Json& arena : json_["arenas"]) {
      const std::string of = counts_blocks(plan_) ? "" : " of " + arena["name"].get<std::string>();
      look_at(arena, {{"num_ids", of.empty() ? "num_blocks" : "ids" + of},
                      {"usable_ids", of.empty() ? "usable blocks" : "usable ids" + of},
                      {"bytes_per_id", of.empty() ? "bytes of a block id" : "bytes of an id" + of}});
    }
    if (plan_.cache_order) {
      look_at(json_["pools"][0],
              {{"bytes", "bytes of a pool"},
               {"page_bytes", plan_.is_uniform() ? "P" : "page of " + spec_label(plan_.spec_of(plan_.groups[0]))}});
      return look_at_allocation();
    }
    if (is_one_allocation(plan_.strategy)) return look_at_shared_pool();
    for (const Json& pool : json_["pools"]) {
      if (plan_.is_uniform()) {
        look_at(pool, {{"bytes", "bytes of a pool"}, {"page_bytes", "P"}});
        continue;
      }
      const std::int64_t spec = pool["shared_by"][0]["spec"];
      for (const GroupPlan& group : plan_.groups)
        if (group.spec == spec)
          look_at(pool, {{"bytes", "bytes of a pool of " + plan_.arena_of(group).name},
                         {"page_bytes", "page of " + spec_label(plan_.specs[spec])}});
    }
    if (plan_.is_uniform()) {
      for (const Json& lane : json_["arenas"][0]["lanes"]) {
        require("stride_bytes", "P", lane["stride_bytes"]);
        require("bytes", "P", lane["bytes"]);
      }
      return;
    }
    for (const GroupPlan& group : plan_.groups)
      for (std::size_t page = 0; page < group.pages.size(); ++page) {
        const Json& lane = json_["lanes"][plan_.lane_of(group, page).index()];
        const std::string own = "page of " + spec_label(plan_.spec_of(group));
        require("bytes", own, lane["bytes"]);
        if (keeps_tensors_apart(plan_.strategy)) {
          require("stride", "step of " + spec_label(plan_.spec_of(group)), lane["stride"]);
          const std::int64_t before = plan_.pool_groups ? static_cast<std::int64_t>(page) : 0;
          if (lane["offset"] != before * lane["bytes"].get<std::int64_t>()) missing_.push_back("offset of a lane");
          continue;
        }
        require("stride", own, lane["stride"]);
        const bool behind = plan_.spec_of(group).state.has_value();
        const std::int64_t step = behind ? whole("bytes of a lane of " + plan_.arena_of(group).name) : 0;
        if (lane["offset"] != static_cast<std::int64_t>(page) * step) missing_.push_back("offset of a lane");
      }
  }

  /// As derivations call the small pages of a group.
  std::string label_of(const GroupPlan& group) const {
    const std::string label = spec_label(plan_.spec_of(group));
    return group.tensor ? plan_.tensors_of(group).front().name + ", " + label : label;
  }

  void look_at_groups() {
    std::map<std::int64_t, std::int64_t> number_in_spec;
    for (const PlanRun& run : group_runs(plan_)) {
      const std::string of = fmt::format(" of group{} {}", run.count > 1 ? "s" : "", run.numbers());
      for (std::size_t g = run.first; g < run.first + run.count; ++g) {
        const Json& group = json_["groups"][g];
        look_at(group, {{"padding_slots", "empty slots" + of},
                        {"lanes_per_page", "lanes a page" + of},
                        {"hole_bytes", "hole" + of},
                        {"ids_per_entry", "ids of an entry of " + spec_label(plan_.spec_of(plan_.groups[g]))},
                        {"entries_per_id",
                         "small pages of a large page of " + label_of(plan_.groups[g])}});
        require("pages", "pages" + of, Json(group["pages"].size()));
        if (!plan_.groups[g].tensor)
          check_layers(plan_.groups[g], number_in_spec[plan_.groups[g].spec]++);
        else if (plan_.groups[g].layers() != plan_.spec_of(plan_.groups[g]).layers)
          missing_.push_back(fmt::format("the layers of group {}", g));
        look_at(json_["waste"]["per_block"][g], {{"state_padding_bytes", "state padding of a block" + of},
                                                 {"empty_slot_bytes", "empty slots of a block" + of},
                                                 {"attention_padding_bytes", "attention padding of a block" + of},
                                                 {"short_pack_bytes", "short last pack of a block" + of},
                                                 {"total_bytes", "lost of a block" + of}});
      }
    }
  }

  /// Group i of a spec takes pages i, i + groups, …, each as many layers of the spec as a page holds: by derived
  /// numbers; or the layers that are supposed.
  void check_layers(const GroupPlan& group, std::int64_t i) {
    const SpecPlan& spec = plan_.specs[group.spec];
    if (const auto& supposed = plan_.what_if.groups; !supposed.empty() && !spec.draft && !spec.auxiliary) {
      if (std::find(supposed.begin(), supposed.end(), group.layers()) == supposed.end())
        missing_.push_back(fmt::format("the layers of group {} of {}, which are not supposed", i, spec_label(spec)));
      return;
    }
    const std::string label = spec_label(spec);
    const std::int64_t groups = whole("groups of " + label), packed = whole("layers a page of " + label);
    if (groups < 1 || packed < 1) return;  // told already
    std::vector<std::vector<std::int64_t>> pages;
    for (std::int64_t page = i; page * packed < std::ssize(spec.layers); page += groups)
      pages.emplace_back(spec.layers.begin() + page * packed,
                         spec.layers.begin() + std::min((page + 1) * packed, std::ssize(spec.layers)));
    if (pages != group.pages) missing_.push_back(fmt::format("the layers of group {} of {}", i, label));
  }

  void look_at_load() {
    const Json& load = json_["waste"]["at_load"];
    look_at(load, {{"pool_bytes", "all pools at the load"},
                   {"used_bytes", "used at the load"},
                   {"wasted_bytes", "wasted at the load"},
                   {"free_bytes", "blocks no request holds at the load"},
                   {"token_bytes", "K and V of live tokens at the load"},
                   {"state_bytes", "running states at the load"},
                   {"extra_state_bytes", "checkpoints and speculative states at the load"},
                   {"state_padding_bytes", "state padding at the load"},
                   {"attention_padding_bytes", "attention padding at the load"},
                   {"short_pack_bytes", "short last packs at the load"},
                   {"empty_slot_bytes", "empty slots at the load"},
                   {"block_tail_bytes", "tails of last blocks at the load"},
                   {"unused_entry_bytes", "unused small pages at the load"},
                   {"null_block_bytes", "null block at the load"}});
    for (const Json& tokens : load["sequence_tokens"])
      require("sequence_tokens", "tokens of a running request", tokens);
    require("unallocated_bytes", "unallocated", json_["waste"]["unallocated_bytes"]);
  }

  void look_at_tree_pools(const Json& tree_pools) {
    look_at(tree_pools, {{"page_tokens", "B"}, {"slot_bytes", "bytes of a slot"}, {"token_bytes", "bytes of a token"},
                         {"checkpoint_tokens", "G"}, {"decode_tokens", "I"}});
    look_at(tree_pools["split"], {{"slots_per_request", "S"}, {"state_slots", "K"}, {"token_slots", "token slots"},
                                  {"max_running", "running requests of the engine"},
                                  {"draft_requests", "requests with states of draft steps"},
                                  {"draft_state_bytes", "states of draft steps"}, {"ring_bytes", "rings of ReplaySSM"},
                                  {"token_memory_bytes", "memory of tokens"}});
    if (tree_pools.contains("unified"))
      look_at(tree_pools["unified"], {{"token_part_bytes", "part of tokens in the elastic buffer"},
                                      {"total_bytes", "elastic buffer"},
                                      {"state_in_tokens", "tokens that a state costs"},
                                      {"largest_tokens", "token slots without states"},
                                      {"largest_states", "state slots without tokens"}});
    for (const Json& advice : tree_pools["advice"]) {
      const std::string at = fmt::format(" at {} tokens", advice["tokens"].get<std::int64_t>());
      look_at(advice, {{"tokens", "length of the advice"}, {"balanced_ratio", "balanced ratio" + at},
                       {"best_ratio", "best ratio" + at}, {"best_state_slots", "state slots at the best ratio" + at},
                       {"best_token_slots", "token slots at the best ratio" + at}, {"running_now", "requests now" + at},
                       {"running_best", "requests at the best ratio" + at}, {"idle_percent", "idle memory" + at}});
    }
  }

  /// The group of a layer, and which of its pages it has.
  std::pair<std::size_t, std::size_t> place_of(const ViewPlan& view) const {
    for (std::size_t g = 0; g < plan_.groups.size(); ++g)
      for (std::size_t page = 0; page < plan_.groups[g].pages.size(); ++page)
        if (plan_.groups[g].spec == view.spec && plan_.groups[g].pages[page].front() == view.layer &&
            (!plan_.groups[g].tensor || plan_.tensors_of(plan_.groups[g]).front().name == view.tensor))
          return {g, page};
    return {0, 0};
  }

  void look_at_slots(const Json& json, const ViewPlan& view) {
    const SpecPlan& spec = plan_.specs[view.spec];
    const auto [group, page] = place_of(view);
    const std::string of = of_run(group), tensor = " of " + view.tensor + of;
    for (std::size_t i = 0; i < json["shape"].size(); ++i) {
      const std::string axis = json["axes"][i];
      require("shape", axis + tensor, json["shape"][i]);
      require("strides", "stride of " + axis + tensor, json["strides"][i]);
    }
    const std::int64_t inside = spec.state ? whole("byte offset of " + view.tensor + ", " + spec_label(spec)) : 0;
    if (json["offset_bytes"] !=
        whole("offset" + of) + static_cast<std::int64_t>(page) * whole("layer stride" + of) + inside)
      missing_.push_back("offset" + tensor);
  }

  void look_at_view(const Json& json, const ViewPlan& view) {
    const std::int64_t element = element_bytes(view.dtype);  // bytes are elements times their size
    for (std::size_t i = 0; i < json["strides"].size(); ++i)
      if (json["strides_bytes"][i] != json["strides"][i].get<std::int64_t>() * element)
        missing_.push_back("strides_bytes of " + view.tensor);
    if (json["offset_bytes"] != json["offset"].get<std::int64_t>() * element)
      missing_.push_back("offset_bytes of " + view.tensor);
    if (plan_.cache_order) return look_at_slots(json, view);
    const SpecPlan& spec = plan_.specs[view.spec];
    const std::string of = " of " + view.tensor + ", " + spec_label(spec);
    for (std::size_t i = 0; i < json["shape"].size(); ++i) {
      const std::string axis = json["axes"][i];
      require("shape", axis + of, json["shape"][i]);
      require("strides", "stride of " + axis + of, json["strides"][i]);
    }
    const auto [group, page] = place_of(view);
    const std::int64_t in_piece = plan_.offset_in_piece(plan_.groups[group], page);
    const std::int64_t front = (plan_.lanes[view.lane.index()].offset + in_piece) / element_bytes(view.dtype);
    if (spec.state) {
      require("offset", "offset" + of, Json(json["offset"].get<std::int64_t>() - front));
      return;
    }
    const auto at = std::find(spec.layers.begin(), spec.layers.end(), view.layer) - spec.layers.begin();
    const std::int64_t position = at % spec.layers_per_page;
    const std::int64_t step = position == 0 ? 0 : whole("offset between layers" + of);
    if (json["offset"] != front + whole("offset of the first layer" + of) + position * step)
      missing_.push_back("offset" + of);
  }

  std::int64_t whole(const std::string& symbol) {
    const auto found = values_.find(symbol);
    if (found != values_.end()) return std::get<std::int64_t>(found->second.front());
    missing_.push_back("no derivation of " + symbol);
    return -1;
  }

  void require(const std::string& key, const std::string& symbol, const Json& value,
               std::optional<std::size_t> nth = std::nullopt) {
    const auto found = values_.find(symbol);
    bool derived = false;
    if (found != values_.end())
      for (std::size_t i = 0; i < found->second.size(); ++i) {
        if (nth && i != *nth) continue;
        const auto same = [&](const auto& held) {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) return value == Json(held);
          return false;
        };
        derived = derived || std::visit(same, found->second[i]);
      }
    if (!derived) missing_.push_back(fmt::format("{} = {} ({})", key, value.dump(), symbol));
  }

  const Symbols capacity_{{"max_model_len", "length"},
                          {"blocks_per_request", "block ids of one request"},
                          {"bytes_per_request", "bytes of one request"},
                          {"ideal_bytes_per_request", "ideal bytes of one request"},
                          {"max_concurrency", "max concurrency"},
                          {"usable_concurrency", "usable concurrency"},
                          {"kv_cache_tokens", "KV cache tokens"},
                          {"kv_cache_tokens_by_concurrency", "KV cache tokens by concurrency"},
                          {"kv_cache_tokens_by_floor", "KV cache tokens by floor"}};
  const CachePlan& plan_;
  Json json_;
  std::map<std::string, std::vector<std::variant<std::int64_t, double, std::string>>> values_;
  std::set<std::string> parts_;
  std::vector<std::string> missing_;
};

}  // namespace

std::vector<std::string> underived(const PlanSet& set) { return Lookup(set).missing(); }

}  // namespace hybridkv::testing
