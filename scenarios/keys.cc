#include "scenarios/keys.h"

#include <fmt/format.h>

#include <initializer_list>
#include <memory>

#include "scenarios/model_reader.h"

namespace hybridkv {

namespace {

/// Counts of layers, heads, channels and ranks end here: far beyond any model, and small enough to enumerate.
constexpr std::int64_t largest_count = 1'000'000;

template <class Enum>
std::vector<std::string> words(std::initializer_list<Enum> values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(to_string(value));
  return names;
}

KeyInfo key(std::string name, std::string doc) {
  KeyInfo info;
  info.name = std::move(name);
  info.doc = std::move(doc);
  return info;
}

KeyInfo required(KeyInfo info) {
  info.required = true;
  return info;
}

/// A number of things that are few.
KeyInfo count(std::string name, std::string doc, std::int64_t minimum = 1) {
  KeyInfo info = key(std::move(name), std::move(doc));
  info.minimum = minimum;
  info.maximum = largest_count;
  return info;
}

/// A number of tokens or blocks.
KeyInfo amount(std::string name, std::string doc, std::int64_t minimum = 1) {
  KeyInfo info = key(std::move(name), std::move(doc));
  info.minimum = minimum;
  return info;
}

KeyInfo dtype(std::string name, std::string doc) {
  KeyInfo info = key(std::move(name), std::move(doc));
  for (const DType value : all_dtypes) info.choices.emplace_back(to_string(value));
  info.synonyms = {{"fp8", "fp8_e4m3"}, {"float32", "fp32"}, {"float16", "fp16"}, {"bfloat16", "bf16"}};
  return info;
}

KeyInfo with_choices(KeyInfo info, std::vector<std::string> choices) {
  info.choices = std::move(choices);
  return info;
}

KeyInfo sets(KeyInfo info, std::vector<std::string> spec_names) {
  info.spec_names = std::move(spec_names);
  return info;
}

/// K and V of one size are one key, of two sizes two keys; query heads share KV heads evenly.
void check_attention(const std::string& path, const YamlNode& node, const AttentionSpec& layer) {
  const YamlNode* both = node.find("head_size");
  const YamlNode* k = node.find("head_size_k");
  const YamlNode* v = node.find("head_size_v");
  if (both && (k || v))
    throw error_at((k ? k : v)->key_place, path + ": head_size already sets the size of K and of V; leave one out");
  if (!both && !(k && v))
    throw error_at(node.key_place, path + ": key 'head_size' is missing (or head_size_k and head_size_v)");
  if (layer.query_heads % layer.kv_heads != 0)
    throw error_at(node.find("query_heads")->place,
                   fmt::format("{}.query_heads: {} query heads cannot share {} KV heads; take a multiple of {}", path,
                               layer.query_heads, layer.kv_heads, layer.kv_heads));
}

void add_attention_keys(Section<AttentionSpec>& section) {
  section
      .integer(required(count("query_heads", "query heads of the whole model; only computing attention needs them")),
               &AttentionSpec::query_heads)
      .integer(required(count("kv_heads", "K/V heads of the whole model, before any split over ranks")),
               &AttentionSpec::kv_heads)
      .integer_by(sets(count("head_size", "channels of one head, for K and V alike"), {"head_size_k", "head_size_v"}),
                  [](AttentionSpec& spec, std::int64_t size) { spec.head_size_k = spec.head_size_v = size; })
      .integer(count("head_size_k", "channels of one K head, where V differs"), &AttentionSpec::head_size_k)
      .integer(count("head_size_v", "channels of one V head, where K differs"), &AttentionSpec::head_size_v)
      .check(check_attention);
}

void add_window_key(Section<AttentionSpec>& section, const char* doc) {
  section.integer(required(amount("window_tokens", doc)), &AttentionSpec::window_tokens);
}

/// The key "type", which a section of a kind only names: it has chosen the section already.
template <class Spec>
void add_type_key(Section<Spec>& section, const std::string& type) {
  KeyInfo info = required(with_choices(key("type", "what a layer of this kind keeps"), {type}));
  info.type = ValueType::choice;
  section.add(std::move(info), [](ReadContext&, const std::string&, const YamlNode&, Spec&) {});
}

/// A kind whose keys fill a spec that is one part of a layer.
template <class Spec, class Field>
KindSection kind_section(const std::string& type, Section<Spec> keys, Field LayerSpec::*field, Spec start) {
  const auto section = std::make_shared<const Section<Spec>>(std::move(keys));
  return {type, &section->info(),
          [section, field, start](ReadContext& context, const std::string& path, const YamlNode& node) {
            LayerSpec layer;
            Spec spec = start;
            section->read(context, path, node, spec);
            layer.*field = spec;
            return layer;
          }};
}

AttentionSpec of_kind(AttentionKind kind) {
  AttentionSpec spec;
  spec.kind = kind;
  return spec;
}

KindSection attention_kind(AttentionKind kind, const char* doc, const char* window_doc) {
  const std::string type(to_string(kind));
  Section<AttentionSpec> keys("a kind of type " + type, doc);
  add_type_key(keys, type);
  add_attention_keys(keys);
  if (window_doc) add_window_key(keys, window_doc);
  return kind_section(type, std::move(keys), &LayerSpec::attention, of_kind(kind));
}

KindSection gdn_kind() {
  const std::string type(family_name(GdnSpec{}));
  Section<GdnSpec> keys("a kind of type " + type, "A gated delta net (Qwen3-Next, Qwen3.5, Olmo-hybrid).");
  add_type_key(keys, type);
  keys.integer(required(count("key_heads", "key heads Hk of the whole model")), &GdnSpec::key_heads)
      .integer(required(count("value_heads", "value heads Hv of the whole model")), &GdnSpec::value_heads)
      .integer(required(count("key_head_dim", "channels Dk of a key head")), &GdnSpec::key_head_dim)
      .integer(required(count("value_head_dim", "channels Dv of a value head")), &GdnSpec::value_head_dim)
      .integer(required(count("conv_kernel", "taps K of the convolution, of which the state keeps K - 1")),
               &GdnSpec::conv_kernel);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, GdnSpec{});
}

KindSection mamba2_kind() {
  const std::string type(family_name(Mamba2Spec{}));
  Section<Mamba2Spec> keys("a kind of type " + type,
                           "A Mamba-2 layer (Nemotron-H, Granite-4-H, Bamba, Falcon-H1, Zamba2).");
  add_type_key(keys, type);
  keys.integer(required(count("heads", "heads of the whole model")), &Mamba2Spec::heads)
      .integer(required(count("head_dim", "channels of one head")), &Mamba2Spec::head_dim)
      .integer(required(count("state_size", "size d_state of the state of one channel")), &Mamba2Spec::state_size)
      .integer(count("groups", "groups G that share their B and C projections; default 1"), &Mamba2Spec::groups)
      .integer(count("conv_kernel", "taps K of the convolution, of which the state keeps K - 1; default 4"),
               &Mamba2Spec::conv_kernel)
      .integer(amount("chunk_size", "tokens of one chunk of the scan, the grain of cache mode all; default 256"),
               &Mamba2Spec::chunk_size);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, Mamba2Spec{});
}

/// A layer that caches nothing.
KindSection none_kind() {
  Section<LayerSpec> keys("a kind of type none", "A layer without a cache (MLP, MoE); '-' needs no declaration.");
  add_type_key(keys, "none");
  const auto section = std::make_shared<const Section<LayerSpec>>(std::move(keys));
  return {"none", &section->info(), [section](ReadContext& context, const std::string& path, const YamlNode& node) {
            LayerSpec layer;
            section->read(context, path, node, layer);
            return layer;
          }};
}

const Section<AttentionSpec>& draft_attention_keys() {
  static const Section<AttentionSpec> section = [] {
    Section<AttentionSpec> keys("engine.draft.attention", "shape of one of its layers");
    add_attention_keys(keys);
    add_window_key(keys, "tokens it looks back on");
    return keys;
  }();
  return section;
}

const Section<DraftSpec>& draft_keys() {
  static const Section<DraftSpec> section = [] {
    Section<DraftSpec> keys("engine.draft", "a draft model with sliding-window layers that share the pools; default: "
                                            "none");
    keys.integer(required(count("layers", "number of layers of the draft model")), &DraftSpec::layers);
    keys.section(required(key("attention", "")), &DraftSpec::attention,
                 draft_attention_keys(), of_kind(AttentionKind::sliding_window));
    return keys;
  }();
  return section;
}

void check_engine(const std::string& path, const YamlNode& node, const EngineSpec&) {
  if (!node.find("memory") && !node.find("num_blocks"))
    throw error_at(node.key_place, path + ": key 'memory' is missing (or num_blocks): how much all pools may take, "
                                          "like 40 GiB");
}

void add_dtype_keys(Section<EngineSpec>& keys) {
  keys.choice(dtype("kv_dtype", "element type of K and V; default: the model's dtype"), &EngineSpec::kv_dtype,
              parse_dtype)
      .choice(dtype("conv_dtype", "element type of convolution states; default: the model's dtype"),
              &EngineSpec::conv_dtype, parse_dtype)
      .choice(dtype("ssm_dtype", "element type of recurrent states; default: the model's ssm_dtype, else its dtype"),
              &EngineSpec::ssm_dtype, parse_dtype);
}

void add_block_keys(Section<EngineSpec>& keys) {
  keys.choice(with_choices(key("cache_mode", "where recurrent states are kept for prefix caching: nowhere, where a "
                                             "scheduled chunk ends on a block boundary, at every one; default none"),
                           words({CacheMode::none, CacheMode::align, CacheMode::all})),
              &EngineSpec::cache_mode, parse_cache_mode);
  KeyInfo pack = count("attention_pack_size", "N, full-attention layers that share one page; a list or a range plans "
                                              "each; default 1");
  pack.type = ValueType::integer;
  pack.sweepable = true;
  keys.add(pack, [pack](ReadContext& context, const std::string& path, const YamlNode& node, EngineSpec& spec) {
    context.pack_sizes = read_integers(path, node, pack);
    spec.attention_pack_size = context.pack_sizes.front();
  });
  keys.integer(amount("block_size_tokens", "block size the user asks for: a floor and the rounding unit; default: "
                                           "none"),
               &EngineSpec::block_size_tokens)
      .integer(amount("mamba_block_size_tokens", "cache mode all: overrides the chunk of the scan; default: none"),
               &EngineSpec::mamba_block_size_tokens)
      .integer(amount("kernel_alignment_tokens", "smallest kernel block of the backend; default 16"),
               &EngineSpec::kernel_alignment_tokens)
      .integers(amount("kernel_block_sizes", "kernel blocks the backend supports, in tokens; default: every multiple "
                                             "of the smallest"),
                &EngineSpec::kernel_block_sizes);
}

void add_view_keys(Section<EngineSpec>& keys) {
  keys.choice(with_choices(key("backend_form", "axes by which the attention backend indexes the cache; default paged"),
                           words({BackendForm::paged, BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv,
                                  BackendForm::kv_first, BackendForm::kv_first_unordered})),
              &EngineSpec::backend_form, parse_backend_form);
  KeyInfo order = with_choices(
      key("physical_order", "order of a page in memory: token before head, head before token, or head before layer; "
                            "default nhd"),
      words({PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major}));
  order.synonyms = {{"NHD", "nhd"}, {"HND", "hnd"}, {"head-major", "head_major"}};
  keys.choice(std::move(order), &EngineSpec::physical_order, parse_physical_order);
}

void add_capacity_keys(Section<EngineSpec>& keys) {
  keys.integer(count("speculative_tokens", "draft tokens per step, s; they lengthen convolution states; default 0", 0),
               &EngineSpec::speculative_tokens)
      .integer(count("mtp_layers", "multi-token-prediction layers, which join the full-attention layers; default 0", 0),
               &EngineSpec::mtp_layers)
      .section(key("draft", ""), &EngineSpec::draft,
               draft_keys())
      .size(sets(key("memory", "memory for all pools together, on one rank: \"40 GiB\", or bytes"), {"memory_bytes"}),
            &EngineSpec::memory_bytes)
      .integer(amount("num_blocks", "number of blocks, the null block included; overrides what memory gives"),
               &EngineSpec::num_blocks)
      .integer(amount("max_num_batched_tokens", "most tokens of one step; default 8192"),
               &EngineSpec::max_num_batched_tokens)
      .choice(with_choices(key("token_rule", "how the engine prints its KV cache tokens: from the concurrency, or "
                                             "rounded down to blocks as engines up to 0.20; default concurrency"),
                           words({TokenRule::concurrency, TokenRule::floor})),
              &EngineSpec::token_rule, parse_token_rule)
      .check(check_engine);
}

const Section<EngineSpec>& engine_keys() {
  static const Section<EngineSpec> section = [] {
    Section<EngineSpec> keys("engine", "what is asked of the serving engine; defaults are those of a deployment "
                                       "without any flag");
    keys.integer(count("tensor_parallel", "ranks that split heads and channels; default 1"),
                 &EngineSpec::tensor_parallel);
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
    keys.integers(sets(required(amount("max_model_len", "longest sequence in tokens; a list or a range gives the "
                                                        "capacity for each")),
                       {"max_model_lens"}),
                  &LimitsSpec::max_model_lens)
        .integer(amount("longest_prompt_tokens", "longest prompt of the traffic, for the warning that no prefix can "
                                                 "ever hit; default: unknown"),
                 &LimitsSpec::longest_prompt_tokens)
        .integers(amount("load_tokens", "lengths of the running requests at which waste is itemised; default: one "
                                        "request of the longest max_model_len"),
                  &LimitsSpec::load_tokens);
    return keys;
  }();
  return section;
}

const Section<WorkspaceSpec>& workspace_keys() {
  static const Section<WorkspaceSpec> section = [] {
    Section<WorkspaceSpec> keys("workspace", "a batch whose bias memory the plan shows; default: none");
    keys.integer(required(amount("query_tokens", "query tokens of the batch")), &WorkspaceSpec::query_tokens)
        .integer(required(amount("shared_blocks", "cached blocks that more than one query token reads")),
                 &WorkspaceSpec::shared_blocks)
        .integer(required(amount("block_size_tokens", "tokens of one such block")), &WorkspaceSpec::block_size_tokens)
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
    keys.integers(sets(amount("requests", "length of each request in tokens; default: chosen from the plan"),
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

const std::vector<KindSection>& kind_sections() {
  static const std::vector<KindSection> sections = {
      attention_kind(AttentionKind::full, "Attention over every earlier token.", nullptr),
      attention_kind(AttentionKind::sliding_window, "Attention over the last window_tokens tokens.",
                     "tokens it looks back on"),
      attention_kind(AttentionKind::chunked_local, "Attention inside chunks of window_tokens tokens.",
                     "tokens of one chunk"),
      gdn_kind(),
      mamba2_kind(),
      none_kind(),
  };
  return sections;
}

const Section<ModelReference>& model_reference_keys() {
  static const Section<ModelReference> section = [] {
    Section<ModelReference> keys("model", "A model in a file of its own.");
    keys.text(required(key("file", "path of the model file, relative to the file that names it")),
              &ModelReference::file);
    return keys;
  }();
  return section;
}

const Section<ModelText>& model_keys() {
  static const Section<ModelText> section = [] {
    Section<ModelText> keys("model", "A model as far as its caches go.");
    KeyInfo kinds = required(key("kinds", "the kinds of layer, each with a name of one character"));
    kinds.type = ValueType::kinds;
    KeyInfo layers = required(key("layers", "the layers in order, one character each: \"(mmma)15\"; a number repeats, "
                                            "brackets group, + puts two kinds into one layer, - caches nothing"));
    keys.text(required(key("name", "the model's published name")), &ModelText::name)
        .texts(key("aliases", "further published names of models with the same shapes"), &ModelText::aliases)
        .text(key("source", "where the numbers come from"), &ModelText::source)
        .flag(key("layer_order_verified", "false where only the number of layers of each kind is known; default true"),
              &ModelText::layer_order_verified)
        .choice(dtype("dtype", "the model's dtype, which K, V and convolution states follow unless the engine sets "
                               "another; default bf16"),
                &ModelText::dtype, parse_dtype)
        .choice(dtype("ssm_dtype", "element type of recurrent states, where the model fixes it"), &ModelText::ssm_dtype,
                parse_dtype)
        .add(std::move(kinds),
             [](ReadContext& context, const std::string& path, const YamlNode& node, ModelText& model) {
               model.kinds = read_kinds(context, path, node);
             })
        .text(std::move(layers), &ModelText::layers)
        .text(key("mtp", "kind of a multi-token-prediction layer; default: the first kind of full attention"),
              &ModelText::mtp);
    return keys;
  }();
  return section;
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
        .section(required(key("engine", "")), &Scenario::engine, engine_keys())
        .section(required(key("limits", "")), &Scenario::limits, limits_keys())
        .section(key("workspace", ""), &Scenario::workspace,
                 workspace_keys())
        .section(key("verify", ""),
                 &Scenario::verify, verify_keys());
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
