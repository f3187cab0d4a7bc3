// Every number that `plan` prints has a derivation in `explain`, and every derivation with a formula comes out.
#include "report/explain_report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "planner/group_runs.h"
#include "planner/plan.h"
#include "report/human.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"
#include "tests/report/formula.h"

using namespace hybridkv;
using namespace hybridkv::testing;
using Json = nlohmann::ordered_json;

namespace {

struct Case {
  std::string name;
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits{.max_model_lens = {8192, 32'768}};
};

EngineSpec engine_of(CacheMode mode, std::int64_t pack, std::int64_t ranks = 1) {
  return {.tensor_parallel = ranks, .cache_mode = mode, .attention_pack_size = pack, .memory_bytes = 60 * gib};
}

ModelSpec with_windows(ModelSpec model, AttentionKind kind) {
  for (std::size_t i = 0; i < model.layers.size(); i += 3)
    if (model.layers[i].attention) {
      model.layers[i].attention->kind = kind;
      model.layers[i].attention->window_tokens = 1000;
    }
  return model;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (std::int64_t pack : {1, 4, 5})
      all.push_back({fmt::format("gdn {} N {}", to_string(mode), pack), qwen35_397b(), engine_of(mode, pack, 2)});
  all.push_back({"both kinds", falcon_h1_3b(), engine_of(CacheMode::align, 3)});
  all.push_back({"mla, kda", kimi_k3(), engine_of(CacheMode::align, 2, 4)});
  all.push_back({"mla, indexer, ring", glm_flash(), engine_of(CacheMode::align, 1)});
  all.push_back({"auxiliary conv, indexer", qwen38_flash_next(), engine_of(CacheMode::align, 1, 2)});
  all.push_back({"short_conv", lfm25(), engine_of(CacheMode::align, 2)});
  all.push_back({"mamba1", hybrid_model("mamba1", 32, full_attention(8, 128, 32),
                                        Mamba1Spec{.inner_size = 8192, .state_size = 16, .conv_kernel = 4},
                                        [](std::int64_t i) { return i % 8 == 4; }),
                 engine_of(CacheMode::all, 3)});
  all.push_back({"linear", hybrid_model("linear", 16, full_attention(8, 128, 32),
                                        LinearAttentionSpec{.heads = 64, .head_dim = 128},
                                        [](std::int64_t i) { return i % 8 == 7; }),
                 engine_of(CacheMode::none, 2)});
  all.push_back(
      {"windows", with_windows(qwen35_397b(), AttentionKind::sliding_window), engine_of(CacheMode::align, 2)});
  all.push_back({"chunks", with_windows(falcon_h1_3b(), AttentionKind::chunked_local), engine_of(CacheMode::all, 2)});
  all.push_back({"states alone",
                 hybrid_model("states", 4, full_attention(1, 8), qwen_gdn(2, 2), [](auto) { return false; }),
                 engine_of(CacheMode::none, 1)});
  Case drafted{"MTP, a draft, hidden states", qwen35_27b(), engine_of(CacheMode::align, 3)};
  drafted.engine.speculative_tokens = 3;
  drafted.engine.mtp_layers = 1;
  drafted.engine.draft = DraftSpec{5, sliding_attention(2, 256, 2048)};
  drafted.engine.hidden_state_size = 5120;
  all.push_back(drafted);
  Case padded{"padded heads, a draft of full attention, groups as asked", qwen35_27b(),
              engine_of(CacheMode::align, 1, 3)};
  padded.engine.pad_heads = true;
  padded.engine.layers_per_group = 12;
  padded.engine.speculative_tokens = 3;
  padded.engine.draft = DraftSpec{2, full_attention(8, 128, 32)};
  all.push_back(padded);
  for (const Strategy strategy : {Strategy::dual_pool, Strategy::small_pages}) {
    all.push_back({std::string(to_string(strategy)), qwen35_397b(), engine_of(CacheMode::all, 2, 2)});
    all.back().engine.strategy = strategy;
    all.back().engine.mamba_block_size_tokens = 256;
  }
  Case split{"kernel blocks, head-major, two loads", granite_h_small(), engine_of(CacheMode::align, 2, 2)};
  split.engine.kernel_block_sizes = {16, 32};
  split.engine.physical_order = PhysicalOrder::head_major;
  split.engine.token_rule = TokenRule::floor;
  split.limits.load_tokens = {1000, 17, 1000};
  all.push_back(split);
  Case counted{"blocks as set, a format with scales", granite_h_small(), engine_of(CacheMode::align, 1)};
  counted.engine.num_blocks = 5000;
  counted.engine.kv_format = KvFormat::int8_per_token_head;
  all.push_back(counted);
  return all;
}

PlanSet plan_of(const Case& one) {
  const std::int64_t packs[] = {one.engine.attention_pack_size};
  return make_plans(one.model, one.engine, one.limits, packs, WorkspaceSpec{8192, 10000, 128, 64, DType::bf16});
}

/// Reads the numbers of a plan's JSON beside its derivation.
class Lookup {
 public:
  explicit Lookup(const PlanSet& set) : plan_(set.plans.front()), json_(to_json(set)["plans"][0]) {
    for (const Decision& decision : plan_.derivation)
      if (!std::holds_alternative<std::string>(decision.result.value))
        values_[decision.result.symbol].push_back(decision.result.value);
    for (const char* key : {"specs", "groups", "pools", "extras", "capacity", "prefix", "waste", "views", "workspace"})
      parts_.insert(key);
  }

  /// What is wrong: numbers without a derivation, or with another value.
  std::vector<std::string> missing() {
    for (const auto& [key, value] : json_.items())
      if (!parts_.contains(key) && value.is_number()) require(key, plain(key), value);
    for (std::size_t i = 0; i < plan_.specs.size(); ++i) look_at_spec(json_["specs"][i], plan_.specs[i]);
    look_at_groups();
    look_at_pools();
    for (const Json& extra : json_["extras"])
      look_at(extra, {{"bytes_per_block", "bytes beside each block: " + extra["what"].get<std::string>()},
                      {"blocks_per_request", extra["what"].get<std::string>()}});
    for (std::size_t i = 0; i < plan_.capacity.size(); ++i) look_at(json_["capacity"][i], capacity_, i);
    look_at(json_["prefix"], {{"match_unit_tokens", "match unit"},
                              {"min_cacheable_prefix_tokens", "smallest prefix that can hit"},
                              {"duplicate_misses_up_to_tokens", "second copies hit nothing up to"},
                              {"duplicate_misses_multiples_of_tokens", "second copies hit nothing at multiples of"}});
    look_at_load();
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
                                 {"usable_blocks", "usable blocks"}, {"max_fitting_tokens", "longest request"},
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
          key == "arena" || key == "first_lane")
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
                   {"num_pages", "pages of " + label}});
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

  void look_at_pools() {
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
    if (plan_.is_uniform()) return;
    for (const Json& arena : json_["arenas"]) {
      const std::string name = arena["name"];
      look_at(arena, {{"num_ids", "ids of " + name}, {"bytes_per_id", "bytes of an id of " + name}});
    }
    for (const GroupPlan& group : plan_.groups)
      for (std::size_t page = 0; page < group.pages.size(); ++page) {
        const Json& lane = json_["lanes"][plan_.lane_of(group, page).index()];
        const std::string own = "page of " + spec_label(plan_.spec_of(group));
        require("stride", own, lane["stride"]);
        require("bytes", own, lane["bytes"]);
        const bool behind = plan_.spec_of(group).state.has_value();
        const std::int64_t step = behind ? whole("bytes of a lane of " + plan_.arena_of(group).name) : 0;
        if (lane["offset"] != static_cast<std::int64_t>(page) * step) missing_.push_back("offset of a lane");
      }
  }

  void look_at_groups() {
    std::map<std::int64_t, std::int64_t> number_in_spec;
    for (const PlanRun& run : group_runs(plan_)) {
      const std::string of = fmt::format(" of group{} {}", run.count > 1 ? "s" : "", run.numbers());
      for (std::size_t g = run.first; g < run.first + run.count; ++g) {
        const Json& group = json_["groups"][g];
        look_at(group, {{"padding_slots", "empty slots" + of},
                        {"ids_per_entry", "ids of an entry of " + spec_label(plan_.spec_of(plan_.groups[g]))}});
        require("pages", "pages" + of, Json(group["pages"].size()));
        check_layers(plan_.groups[g], number_in_spec[plan_.groups[g].spec]++);
        look_at(json_["waste"]["per_block"][g], {{"state_padding_bytes", "state padding of a block" + of},
                                                 {"empty_slot_bytes", "empty slots of a block" + of},
                                                 {"attention_padding_bytes", "attention padding of a block" + of},
                                                 {"short_pack_bytes", "short last pack of a block" + of},
                                                 {"total_bytes", "lost of a block" + of}});
      }
    }
  }

  /// Group i of a spec takes pages i, i + groups, …, each as many layers of the spec as a page holds: by derived
  /// numbers.
  void check_layers(const GroupPlan& group, std::int64_t i) {
    const SpecPlan& spec = plan_.specs[group.spec];
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
                   {"null_block_bytes", "null block at the load"}});
    for (const Json& tokens : load["sequence_tokens"])
      require("sequence_tokens", "tokens of a running request", tokens);
    require("unallocated_bytes", "unallocated", json_["waste"]["unallocated_bytes"]);
  }

  void look_at_view(const Json& json, const ViewPlan& view) {
    const SpecPlan& spec = plan_.specs[view.spec];
    const std::string of = " of " + view.tensor + ", " + spec_label(spec);
    for (std::size_t i = 0; i < json["shape"].size(); ++i) {
      const std::string axis = json["axes"][i];
      require("shape", axis + of, json["shape"][i]);
      require("strides", "stride of " + axis + of, json["strides"][i]);
    }
    const std::int64_t front = plan_.lanes[view.lane.index()].offset / element_bytes(view.dtype);
    if (spec.state) {
      require("offset", "offset" + of, Json(json["offset"].get<std::int64_t>() - front));
      return;
    }
    const auto at = std::find(spec.layers.begin(), spec.layers.end(), view.layer) - spec.layers.begin();
    const std::int64_t position = at % spec.layers_per_page;
    const std::int64_t step = position == 0 ? 0 : whole("offset between layers" + of);
    if (json["offset"] != whole("offset of the first layer" + of) + position * step)
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

std::vector<std::string> underived(const PlanSet& set) { return Lookup(set).missing(); }

/// Every way in which a derived number may be written.
std::set<std::string> written_numbers(const CachePlan& plan) {
  std::set<std::string> numbers{"0", "1", "2"};  // of sentences: "floor((n - 1) / 528)", "2 of 4"
  const auto add_text = [&](const std::string& text) { numbers.insert(text.substr(0, text.find(' '))); };
  const auto add = [&](const Term& term) {
    if (const auto* count = std::get_if<std::int64_t>(&term.value)) {
      numbers.insert(human_count(*count));
      numbers.insert(std::to_string(*count));
      if (term.unit == "bytes") {
        add_text(human_bytes(*count));
        add_text(human_bytes(*count, Decimals::fixed));
      }
    } else if (const auto* real = std::get_if<double>(&term.value)) {
      numbers.insert(human_real(*real));
    }
  };
  for (const Decision& decision : plan.derivation) {
    add(decision.result);
    if (decision.result.symbol.starts_with("offset between layers"))  // layer i of a pack begins i times as far
      for (std::int64_t i = 2; i < plan.attention_pack_size; ++i)
        numbers.insert(human_count(i * std::get<std::int64_t>(decision.result.value)));
    for (const Term& input : decision.inputs) add(input);
  }
  // A tensor of lane j begins j lanes behind that of the first.
  for (const Decision& lane : plan.derivation)
    for (const Decision& offset : plan.derivation)
      if (lane.result.symbol.starts_with("bytes of a lane") && offset.result.symbol.starts_with("offset of "))
        for (std::int64_t j = 0; j < std::ssize(plan.lanes); ++j)
          for (const std::int64_t element : {1, 2, 4})
            numbers.insert(human_count(j * std::get<std::int64_t>(lane.result.value) / element +
                                       std::get<std::int64_t>(offset.result.value)));
  // Names of layers, groups and pools, and how many a shortened list of layers has.
  for (const SpecPlan& spec : plan.specs)
    for (std::int64_t layer : spec.layers) numbers.insert(std::to_string(layer));
  for (std::size_t i = 0; i < std::max(plan.groups.size(), plan.pools.size()); ++i) numbers.insert(std::to_string(i));
  return numbers;
}

/// The numbers of a text; digits inside of a word ("bf16", "int32", "Qwen3.5") are part of a name.
std::vector<std::string> numbers_of(const std::string& text) {
  std::vector<std::string> numbers;
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  const auto letter = [&](std::size_t i) {
    return i < text.size() && (std::isalpha(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (std::size_t i = 0; i < text.size();) {
    if (letter(i)) {
      while (letter(i) || digit(i) ||
             (i < text.size() && (text[i] == '.' || text[i] == '-') && (digit(i + 1) || letter(i + 1))))
        ++i;
    } else if (digit(i)) {
      std::size_t end = i;
      while (digit(end) || (end < text.size() && (text[end] == ',' || text[end] == '.') && digit(end + 1))) ++end;
      numbers.push_back(text.substr(i, end - i));
      i = end;
    } else {
      ++i;
    }
  }
  return numbers;
}

}  // namespace

TEST_CASE("law: every number of a plan's JSON is derived under its own name") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    for (const std::string& number : underived(plan_of(one))) FAIL_CHECK(number);
  }
}

TEST_CASE("law: every number of the printed plan is one that explain derives") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const PlanSet set = plan_of(one);
    const std::set<std::string> derived = written_numbers(set.plans.front());
    for (const std::string& number : numbers_of(render_plan(set, findings_of(set), Format::table)))
      if (!derived.contains(number)) FAIL_CHECK(number);
  }
}

TEST_CASE("fault: a number without its derivation is found, wherever it stands") {
  const Case one = cases()[1];
  const PlanSet set = plan_of(one);
  REQUIRE(underived(set).empty());
  for (std::size_t i = 0; i < set.plans.front().derivation.size(); ++i) {
    PlanSet without = set;
    Derivation& derivation = without.plans.front().derivation;
    const std::string symbol = derivation[i].result.symbol;
    std::erase_if(derivation, [&](const Decision& decision) { return decision.result.symbol == symbol; });
    // What the JSON of a plan does not hold: steps on the way, and what the printed tables add.
    static const std::set<std::string> steps{
        "TP", "memory", "A", "B", "b", "C", "g", "over ideal", "bytes of a block id"};
    const bool of_tables = symbol.starts_with("share of ") || symbol.ends_with(" of one block of each group") ||
                           symbol.starts_with("block ids of a group") ||
                           symbol == "block ids of a request of one token" || symbol == "running requests at the load";
    CAPTURE(symbol);
    CHECK(underived(without).empty() == (steps.contains(symbol) || of_tables));
  }
}

TEST_CASE("law: the values of a rule come to its result") {
  int formulas = 0;
  const auto check = [&](const CachePlan& plan) -> std::string {
    for (const Decision& decision : plan.derivation) {
      const auto values = substituted_rule(decision);
      if (!values) continue;
      const double result = std::holds_alternative<double>(decision.result.value)
                                ? std::get<double>(decision.result.value)
                                : static_cast<double>(std::get<std::int64_t>(decision.result.value));
      const double value = value_of_formula(*values);
      if (!(std::abs(value - result) <= 1e-9 * std::max(1.0, std::abs(result))))
        return fmt::format("{}: {} = {}", decision.result.symbol, *values, value);
      ++formulas;
    }
    return "";
  };
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    CHECK(check(plan_of(one).plans.front()) == "");
  }
  CHECK(check_plans("formulas", 300, SpecSize::real, [&](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(check(plan) == "");
  }, Strategies::all));
  CHECK(formulas > 10'000);
}

TEST_CASE("law: random plans are derived whole") {
  CHECK(check_plans("derivations", 300, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    const PlanSet set{"random", specs.engine.tensor_parallel, "packed_attention", {plan}};
    PlanSet with_bias = set;
    with_bias.plans.front().workspace.reset();
    const std::vector<std::string> missing = underived(with_bias);
    RC_ASSERT(missing == std::vector<std::string>{});
  }, Strategies::all));
}
