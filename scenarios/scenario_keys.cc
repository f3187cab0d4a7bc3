#include "scenarios/scenario_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "engines/engine.h"
#include "planner/default_mode.h"
#include "scenarios/engine_words.h"
#include "scenarios/key_builders.h"
#include "scenarios/model_keys.h"
#include "scenarios/model_reader.h"
#include "scenarios/own_keys.h"
#include "scenarios/simulate_keys.h"
#include "scenarios/what_if_keys.h"

namespace hybridkv {

namespace {

const Section<AttentionSpec>& draft_attention_keys() {
  static const Section<AttentionSpec> section = [] {
    Section<AttentionSpec> keys("engine.draft.attention", "shape of one of its layers");
    add_attention_keys(keys, nullptr);
    keys.integer_by(tokens("window_tokens", "tokens it looks back on; default: all of them, full attention"),
                    [](AttentionSpec& spec, std::int64_t window) {
                      spec.kind = AttentionKind::sliding_window;
                      spec.window_tokens = window;
                    });
    return keys;
  }();
  return section;
}

const Section<DraftSpec>& draft_keys() {
  static const Section<DraftSpec> section = [] {
    Section<DraftSpec> keys("engine.draft", "a draft model whose layers share the pools, in groups of their own; "
                                            "default: none");
    keys.integer(required(count("layers", "number of layers of the draft model")), &DraftSpec::layers);
    keys.section(required(key("attention", "")), &DraftSpec::attention, draft_attention_keys(),
                 of_kind(AttentionKind::full));
    return keys;
  }();
  return section;
}

/// The defaults of a release, where nothing is said; H100 is what most deployments have.
void set_release_defaults(const YamlNode& node, EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  if (rules.one_allocation && !engine.backend_profile) engine.backend_profile = BackendProfile::sm90;
  if (!node.find("strategy")) engine.strategy = rules.strategy;
}

void check_engine(const std::string& path, const YamlNode& node, EngineSpec& engine) {
  set_release_defaults(node, engine);
  // Of a list of another length the planner says what is wrong.
  const std::vector<std::int64_t>& of_stages = engine.pipeline_memory_bytes;
  if (!of_stages.empty())
    engine.memory_bytes = of_stages[std::min(static_cast<std::size_t>(engine.pipeline_rank), of_stages.size() - 1)];
  if (!node.find("memory") && !node.find("num_blocks") && of_stages.empty())
    throw error_at(node.key_place, path + ": key 'memory' is missing (or num_blocks): how much all pools may take, "
                                          "like 40 GiB");
}

/// The key, with the engines that alone take it before its meaning.
KeyInfo only(KeyInfo info) {
  info.doc = engines_taking(info.name) + ": " + info.doc;
  return info;
}

/// Engines whose layers are all in one allocation.
std::string with_one_allocation() {
  return engines_with([](const EngineRules& rules) { return rules.one_allocation; });
}

void add_release_keys(Section<EngineSpec>& keys) {
  keys.choice(with_choices(key("release", fmt::format("the engine whose rules the plan follows; default {}",
                                                      engine_of_today().rules->name)),
                           release_names()),
              &EngineSpec::rules, rules_named)
      .choice(with_choices(key("backend_profile", "what the attention and state backends of a machine declare: kernel "
                                                  "blocks, orders, checkpoints; default: sm90 " +
                                                      with_one_allocation() + ", else none"),
                           names_of(backend_profile_names)),
              &EngineSpec::backend_profile, parse_backend_profile)
      .integer(only(tokens("checkpoint_alignment_tokens",
                           "tokens at multiples of which gdn scans export states; 1: they export none; default: the "
                           "profile's")),
               &EngineSpec::checkpoint_alignment_tokens)
      .integer(only(count("checkpoint_blocks", "blocks of a request and group for a state that a chunk exports, of "
                                               "gdn and kda layers; default: as their kernels do", 0)),
               &EngineSpec::checkpoint_blocks);
}

void add_parallel_keys(Section<EngineSpec>& keys) {
  keys.integer(only(count("pipeline_parallel", "stages of a pipeline; default 1")),
               &EngineSpec::pipeline_parallel)
      .integer(count("pipeline_rank", "the stage that is planned, from 0 on; default 0", 0),
               &EngineSpec::pipeline_rank)
      .integers(amount("pipeline_layers", "layers of each stage; default: as even as the engine makes them"),
                &EngineSpec::pipeline_layers)
      .sizes(sets(key("pipeline_memory", "memory of each stage on one rank, where stages differ: in place of memory, "
                                         "and all have as many blocks as the one with the fewest"),
                  {"pipeline_memory_bytes"}),
             &EngineSpec::pipeline_memory_bytes)
      .integer(only(count("decode_context_parallel", "ranks that share the tokens of a block; default 1")),
               &EngineSpec::decode_context_parallel);
}

void add_dtype_keys(Section<EngineSpec>& keys) {
  KeyInfo kv = dtype("kv_dtype", "element type of K and V, or a format with scales; default: the model's dtype");
  for (const KvFormat format : all_kv_formats) kv.choices.emplace_back(to_string(format));
  keys.choice_by(std::move(kv), [](EngineSpec& spec, const std::string& name) {
    spec.kv_format = parse_kv_format(name);
    if (!spec.kv_format) spec.kv_dtype = parse_dtype(name).value();
  });
  keys.choice(dtype("conv_dtype", "element type of convolution states; default: the model's dtype"),
              &EngineSpec::conv_dtype, parse_dtype)
      .choice(with_choices(key("conv_state_layout",
                               "sd: convolution states as (step, channel); ds: as (channel, step), which ranks of "
                               "another number can read in one piece a section; of " +
                                   engines_taking("conv_state_layout") + " alone; default sd"),
                           names_of(conv_state_layout_names)),
              &EngineSpec::conv_state_layout, parse_conv_state_layout)
      .choice(dtype("ssm_dtype",
                    "element type of recurrent states; default: fp32 in kda layers, else the model's ssm_dtype, else "
                    "its dtype"),
              &EngineSpec::ssm_dtype, parse_dtype);
}

void add_strategy_keys(Section<EngineSpec>& keys) {
  keys.choice(with_choices(key("strategy", "how layers are arranged: pages of one size with N attention layers a page, "
                                           "states in exact slots of a pool of their own, small pages of which a "
                                           "state takes as many as it needs, slots of the states of all layers beside "
                                           "pages of tokens, large pages split among small ones of one kind, pool "
                                           "groups, or rows by sequence; default packed_attention, of other engines "
                                           "their own"),
                           names_of(strategy_names)),
              &EngineSpec::strategy, parse_strategy)
      .number(key("state_memory_ratio",
                  fmt::format("strategies pool_groups, {}: memory of states over that of tokens ({}); default 0.9",
                              splitting_strategies(), meanings_of("state_memory_ratio"))),
              &EngineSpec::state_memory_ratio)
      .integer(amount("state_requests",
                      fmt::format("strategies {}: states of so many requests instead of a ratio",
                                  splitting_strategies())),
               &EngineSpec::state_requests)
      .integer(amount("max_running_requests", "requests at once; " + meanings_of("max_running_requests")),
               &EngineSpec::max_running_requests);
}

void add_block_keys(Section<EngineSpec>& keys) {
  keys.choice(with_choices(key("cache_mode", "where recurrent states are kept for prefix caching: nowhere, where a "
                                             "scheduled chunk ends on a block boundary, at every one; default: as the "
                                             "release does it unless told otherwise"),
                           names_of(cache_mode_names)),
              &EngineSpec::cache_mode, parse_cache_mode);
  KeyInfo pack = count("attention_pack_size", "N, full-attention layers that share one page; a list or a range plans "
                                              "each; default 1");
  pack.type = ValueType::integer;
  pack.sweepable = pack.one_question = true;
  keys.add(pack, [pack](ReadContext& context, const std::string& path, const YamlNode& node, EngineSpec& spec) {
    context.pack_sizes = read_integers(path, node, pack);
    spec.attention_pack_size = context.pack_sizes.front();
  });
  keys.integer(count("layers_per_group", "layers of a group, or packs where several share a page; default: by the "
                                         "engine's rule, from the fewest and the most layers of a kind"),
               &EngineSpec::layers_per_group)
      .integer(tokens("block_size_tokens",
                      fmt::format("block size the user asks for: a floor and the rounding unit; {}; default: none",
                                  meanings_of("block_size_tokens"))),
               &EngineSpec::block_size_tokens)
      .integer(tokens("mamba_block_size_tokens",
                      "cache mode all: overrides the chunk of the scan; strategies without common pages: "
                      "where states are kept; default: none"),
               &EngineSpec::mamba_block_size_tokens)
      .integer(tokens("kernel_alignment_tokens",
                      "smallest kernel block of the backend; default: the profile's, else 16"),
               &EngineSpec::kernel_alignment_tokens)
      .integers(tokens("kernel_block_sizes",
                       "kernel blocks the backend supports, in tokens; default: the profile's, "
                       "else every multiple of the smallest"),
                &EngineSpec::kernel_block_sizes)
      .integer(amount("page_alignment_bytes", "pages are padded to a multiple of it; default 1"),
               &EngineSpec::page_alignment_bytes);
}

/// Two forms are no choice: mla, which layers of that kind always use and no others can, and slots, which all others
/// use in the releases with one allocation and in no other.
void add_view_keys(Section<EngineSpec>& keys) {
  std::vector<std::string> forms = names_of(backend_form_names);
  std::erase(forms, to_string(BackendForm::mla));
  std::erase(forms, to_string(BackendForm::slots));
  keys.choice(with_choices(key("backend_form", "axes by which the attention backend indexes the cache; default paged"),
                           std::move(forms)),
              &EngineSpec::backend_form, parse_backend_form);
  std::vector<std::string> orders = names_of(physical_order_names);
  for (const CacheOrder order : all_cache_orders) orders.emplace_back(to_string(order));
  KeyInfo order = with_choices(
      key("physical_order",
          fmt::format("order of a page in memory: token before head, head before token, or head before layer; {0} one "
                      "of six of the whole allocation, where nhd is LBNHC and hnd LBHNC; default nhd, {0} the "
                      "profile's first", with_one_allocation())),
      std::move(orders));
  order.synonyms = {{"NHD", "nhd"}, {"HND", "hnd"}, {"head-major", "head_major"}};
  keys.choice_by(std::move(order), [](EngineSpec& spec, const std::string& name) {
    spec.cache_order = parse_cache_order(name);
    if (spec.cache_order) return;
    spec.physical_order = parse_physical_order(name).value();
    if (spec.physical_order == PhysicalOrder::nhd) spec.cache_order = CacheOrder::lbnhc;
    if (spec.physical_order == PhysicalOrder::hnd) spec.cache_order = CacheOrder::lbhnc;
  });
}

void add_capacity_keys(Section<EngineSpec>& keys) {
  keys.integer(count("speculative_tokens", "draft tokens per step, s; they lengthen convolution states; default 0", 0),
               &EngineSpec::speculative_tokens)
      .integer(count("mtp_layers", "multi-token-prediction layers, which join the full-attention layers; default 0", 0),
               &EngineSpec::mtp_layers)
      .section(key("draft", ""), &EngineSpec::draft, draft_keys())
      .section(key("what_if", ""), &EngineSpec::what_if, what_if_keys())
      .integer(tokens("encoder_tokens", "tokens of the encoder of each request, whose K and V cross attention keeps; "
                                        "default: the most that the model's encoder reads"),
               &EngineSpec::encoder_tokens)
      .integer(count("hidden_state_size", "elements per token of an auxiliary layer that caches hidden states in the "
                                          "model's dtype; default 0: none", 0),
               &EngineSpec::hidden_state_size)
      .size(sets(key("memory", "memory for all pools together, on one rank: \"40 GiB\", or bytes"), {"memory_bytes"}),
            &EngineSpec::memory_bytes)
      .integer(amount("num_blocks", "number of blocks, the null block included; overrides what memory gives"),
               &EngineSpec::num_blocks)
      .integer(tokens("max_num_batched_tokens", "most tokens of one step; default 8192"),
               &EngineSpec::max_num_batched_tokens)
      .integer(count("concurrent_batches",
                     fmt::format("steps in flight together, whose tokens a window holds; default 1, {} 2: scheduling "
                                 "is asynchronous",
                                 engines_with([](const EngineRules& rules) { return rules.concurrent_batches == 2; }))),
               &EngineSpec::concurrent_batches)
      .integer(only(tokens("prefix_match_unit_tokens", "tokens of a chain hash; default: what the blocks of the groups "
                                                       "have in common")),
               &EngineSpec::prefix_match_unit_tokens)
      .flag(key("hybrid_manager", fmt::format("false: layers with a window keep every token; {}; default true",
                                              engines_taking("hybrid_manager"))),
            &EngineSpec::hybrid_manager)
      .choice(with_choices(key("token_rule", "how the engine prints its KV cache tokens: from the concurrency, or "
                                             "rounded down to blocks as engines up to 0.20; default concurrency"),
                           names_of(token_rule_names)),
              &EngineSpec::token_rule, parse_token_rule)
      .check(check_engine);
}

const Section<EngineSpec>& engine_keys() {
  static const Section<EngineSpec> section = [] {
    Section<EngineSpec> keys("engine", "what is asked of the serving engine; defaults are those of a deployment "
                                       "without any flag");
    add_release_keys(keys);
    keys.integer(count("tensor_parallel", "ranks that split heads and channels; default 1"),
                 &EngineSpec::tensor_parallel)
        .flag(key("pad_heads", "true where the engine pads heads that ranks cannot share: KV and key heads to a "
                               "multiple of the ranks, the heads that read them in proportion; default false"),
              &EngineSpec::pad_heads);
    add_parallel_keys(keys);
    add_strategy_keys(keys);
    add_own_keys(keys);
    add_dtype_keys(keys);
    add_block_keys(keys);
    add_view_keys(keys);
    add_capacity_keys(keys);
    return keys;
  }();
  return section;
}

const Section<LimitsSpec>& limits_keys() {
  static const Section<LimitsSpec> section = [] {
    Section<LimitsSpec> keys("limits", "the lengths the plan is asked about");
    KeyInfo lengths = sets(required(tokens("max_model_len", "longest sequence in tokens; a list or a range gives the "
                                                            "capacity for each")),
                           {"max_model_lens"});
    lengths.one_question = true;
    keys.integers(std::move(lengths), &LimitsSpec::max_model_lens)
        .integer(tokens("longest_prompt_tokens", "longest prompt of the traffic, for the warning that no prefix can "
                                                 "ever hit; default: unknown"),
                 &LimitsSpec::longest_prompt_tokens)
        .integers(tokens("load_tokens", "lengths of the running requests at which waste is itemised; default: one "
                                        "request of the longest max_model_len"),
                  &LimitsSpec::load_tokens);
    return keys;
  }();
  return section;
}

const Section<WorkspaceSpec>& workspace_keys() {
  static const Section<WorkspaceSpec> section = [] {
    Section<WorkspaceSpec> keys("workspace", "a batch whose bias memory the plan shows; default: none");
    keys.integer(required(tokens("query_tokens", "query tokens of the batch")), &WorkspaceSpec::query_tokens)
        .integer(required(amount("shared_blocks", "cached blocks that more than one query token reads")),
                 &WorkspaceSpec::shared_blocks)
        .integer(required(tokens("block_size_tokens", "tokens of one such block")), &WorkspaceSpec::block_size_tokens)
        .integer(amount("chunk_blocks", "blocks for which chunked mode makes a bias at a time; default 64"),
                 &WorkspaceSpec::chunk_blocks)
        .choice(dtype("dtype", "element type of the bias; default bf16"), &WorkspaceSpec::dtype, parse_dtype);
    return keys;
  }();
  return section;
}

const Section<VerifyRequest>& verify_keys() {
  static const Section<VerifyRequest> section = [] {
    Section<VerifyRequest> keys("verify", "what `hybridkv verify` runs; default: all packs, requests chosen from the "
                                          "plan");
    keys.integers(sets(tokens("requests", "length of each request in tokens; default: chosen from the plan"),
                       {"request_tokens"}),
                  &VerifyRequest::request_tokens)
        .integer(amount("seed", "seed of block ids and values; default 1", 0), &VerifyRequest::seed)
        .size(sets(key("resident_budget", "most memory that may become resident; default: half of the free memory"),
                   {"resident_budget_bytes"}),
              &VerifyRequest::resident_budget_bytes)
        .integers(count("pack_sizes", "N to verify; default: all of engine.attention_pack_size"),
                  &VerifyRequest::pack_sizes);
    return keys;
  }();
  return section;
}

}  // namespace

void set_default_mode(const YamlNode& root, Scenario& scenario) {
  const YamlNode* const engine = root.find("engine");
  const bool is_written = engine != nullptr && engine->find("cache_mode") != nullptr;
  if (!is_written) scenario.engine.cache_mode = default_cache_mode(*scenario.engine.rules, scenario.model);
}

const Section<Scenario>& scenario_keys() {
  static const Section<Scenario> section = [] {
    Section<Scenario> keys("a scenario", "One question to hybridkv: a model, an engine, memory and lengths.");
    KeyInfo model = required(key("model", "the model: the name of a shipped one, {file: …}, or written out here"));
    model.type = ValueType::model;
    model.sweepable = true;
    keys.text(key("name", "name of the scenario; default: that of the file"), &Scenario::name)
        .add(std::move(model),
             [](ReadContext& context, const std::string& path, const YamlNode& node, Scenario& scenario) {
               scenario.model = read_model(context, path, node);
             })
        .section(required(key("engine", "")), &Scenario::engine, engine_keys(),
                 EngineSpec{.rules = engine_of_today().rules})
        .section(required(key("limits", "")), &Scenario::limits, limits_keys())
        .section(key("workspace", ""), &Scenario::workspace,
                 workspace_keys())
        .section(key("verify", ""),
                 &Scenario::verify, verify_keys())
        .section(key("simulate", ""), &Scenario::simulate, simulate_keys())
        .check([](const std::string&, const YamlNode& root, Scenario& scenario) { set_default_mode(root, scenario); });
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
