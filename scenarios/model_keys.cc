#include "scenarios/model_keys.h"

#include <fmt/format.h>

#include <memory>

#include "base/suggest.h"
#include "scenarios/key_builders.h"
#include "scenarios/layer_pattern.h"

namespace hybridkv {

namespace {

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

KindSection attention_kind(AttentionKind kind, const char* doc, const char* window_doc) {
  const std::string type(to_string(kind));
  Section<AttentionSpec> keys("a kind of type " + type, doc);
  add_type_key(keys, type);
  add_attention_keys(keys, window_doc);
  return kind_section(type, std::move(keys), &LayerSpec::attention, of_kind(kind));
}

/// The latent is K, its first kv_lora_rank channels are V; every rank keeps all of it.
KindSection mla_kind() {
  const std::string type(to_string(AttentionKind::mla));
  Section<AttentionSpec> keys("a kind of type " + type,
                              "Multi-head latent attention (Kimi, Ling): one latent a token, shared by all heads.");
  add_type_key(keys, type);
  keys.integer(required(count("query_heads", "query heads of the whole model; only computing attention needs them")),
               &AttentionSpec::query_heads)
      .integer_by(sets(required(count("kv_lora_rank", "channels of the latent without its part for RoPE")),
                       {"kv_heads", "head_size_k", "head_size_v"}),
                  [](AttentionSpec& spec, std::int64_t rank) {
                    spec.head_size_k += rank;
                    spec.head_size_v = rank;
                  })
      .integer_by(count("rope_dim", "channels that the latent keeps for RoPE; default 0", 0),
                  [](AttentionSpec& spec, std::int64_t channels) { spec.head_size_k += channels; });
  AttentionSpec start = of_kind(AttentionKind::mla);
  start.kv_heads = 1;
  return kind_section(type, std::move(keys), &LayerSpec::attention, start);
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
               &GdnSpec::conv_kernel)
      .flag(key("doubled_beta", "true where beta is 2 * sigmoid(b), as in Olmo-hybrid; changes what is computed, no "
                                "size; default false"),
            &GdnSpec::doubled_beta);
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
      .integer(tokens("chunk_size", "tokens of one chunk of the scan, the grain of cache mode all; default 256"),
               &Mamba2Spec::chunk_size);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, Mamba2Spec{});
}

KindSection mamba1_kind() {
  const std::string type(family_name(Mamba1Spec{}));
  Section<Mamba1Spec> keys("a kind of type " + type, "A Mamba layer of the first kind (Jamba, Plamo2).");
  add_type_key(keys, type);
  keys.integer(required(count("inner_size", "channels d_inner after the expansion")), &Mamba1Spec::inner_size)
      .integer(required(count("state_size", "size d_state of the state of one channel")), &Mamba1Spec::state_size)
      .integer(count("conv_kernel", "taps K of the convolution, of which the state keeps K - 1; default 4"),
               &Mamba1Spec::conv_kernel);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, Mamba1Spec{});
}

KindSection kda_kind() {
  const std::string type(family_name(KdaSpec{}));
  Section<KdaSpec> keys("a kind of type " + type, "Kimi delta attention (Kimi-Linear); its recurrent state is fp32.");
  add_type_key(keys, type);
  keys.integer(required(count("heads", "heads H of the whole model")), &KdaSpec::heads)
      .integer(required(count("head_dim", "channels D of one head, of q, k and v alike")), &KdaSpec::head_dim)
      .integer(count("conv_kernel", "taps K of the convolution, of which the state keeps K - 1; default 4"),
               &KdaSpec::conv_kernel)
      .flag(key("conv_holds_drafts",
                "true where the convolution state grows with the speculative tokens; default "
                "false"),
            &KdaSpec::conv_holds_drafts)
      .number(key("log_decay_limit",
                  "largest -log of a token's decay where the layer bounds it (5 in Ling and GLM-5.3); "
                  "changes what is computed, no size; default 0, no limit"),
              &KdaSpec::log_decay_limit);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, KdaSpec{});
}

KindSection short_conv_kind() {
  const std::string type(family_name(ShortConvSpec{}));
  Section<ShortConvSpec> keys("a kind of type " + type, "A gated short convolution (LFM2).");
  add_type_key(keys, type);
  keys.integer(required(count("channels", "channels of the whole model")), &ShortConvSpec::channels)
      .integer(count("conv_kernel", "taps K of the convolution, of which the state keeps K - 1; default 3"),
               &ShortConvSpec::conv_kernel);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, ShortConvSpec{});
}

KindSection linear_kind() {
  const std::string type(family_name(LinearAttentionSpec{}));
  Section<LinearAttentionSpec> keys("a kind of type " + type,
                                    "Linear attention with a fixed decay per head (MiniMax-Text-01, Ling).");
  add_type_key(keys, type);
  keys.integer(required(count("heads", "heads H of the whole model")), &LinearAttentionSpec::heads)
      .integer(required(count("head_dim", "channels D of one head, of q, k and v alike")),
               &LinearAttentionSpec::head_dim);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, LinearAttentionSpec{});
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

const KindSection& kind_of(const std::string& path, const YamlNode& node) {
  std::vector<std::string> types;
  for (const KindSection& kind : kind_sections()) types.push_back(kind.type);
  const YamlNode* type = node.find("type");
  if (!type)
    throw error_at(node.key_place, fmt::format("{}: key 'type' is missing{}", path, suggestion("", types, "types:")));
  const std::string name = read_text(path + ".type", *type);
  for (const KindSection& kind : kind_sections())
    if (kind.type == name) return kind;
  throw error_at(type->place, fmt::format("{}.type: unknown type {}{}", path, in_quotes(name),
                                          suggestion(name, types, "types:")));
}

std::map<std::string, LayerSpec> read_kinds(ReadContext& context, const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::mapping || node.entries.empty())
    throw error_at(node.place, fmt::format("{}: {}, where at least one kind of layer is expected", path,
                                           node.entries.empty() ? "nothing" : describe(node)));
  std::map<std::string, LayerSpec> kinds;
  for (const YamlEntry& entry : node.entries) {
    if (entry.key.size() != 1 || !is_kind_name(entry.key.front()))
      throw error_at(entry.value.key_place,
                     fmt::format("{}: a kind is named by one letter or '*', not {}", path, in_quotes(entry.key)));
    const std::string kind_path = path_of(path, entry.key);
    if (entry.value.kind != YamlNode::Kind::mapping)
      throw error_at(entry.value.place, fmt::format("{}: {}, where a mapping with the key 'type' is expected",
                                                    kind_path, describe(entry.value)));
    context.places.add(kind_path, entry.value.key_place);
    kinds[entry.key] = kind_of(kind_path, entry.value).read(context, kind_path, entry.value);
  }
  return kinds;
}

}  // namespace

void add_attention_keys(Section<AttentionSpec>& keys, const char* window_doc) {
  keys.integer(required(count("query_heads", "query heads of the whole model; only computing attention needs them")),
               &AttentionSpec::query_heads)
      .integer(required(count("kv_heads", "K/V heads of the whole model, before any split over ranks")),
               &AttentionSpec::kv_heads)
      .integer_by(sets(count("head_size", "channels of one head, for K and V alike"), {"head_size_k", "head_size_v"}),
                  [](AttentionSpec& spec, std::int64_t size) { spec.head_size_k = spec.head_size_v = size; })
      .integer(count("head_size_k", "channels of one K head, where V differs"), &AttentionSpec::head_size_k)
      .integer(count("head_size_v", "channels of one V head, where K differs"), &AttentionSpec::head_size_v)
      .check(check_attention);
  if (window_doc) keys.integer(required(tokens("window_tokens", window_doc)), &AttentionSpec::window_tokens);
}

AttentionSpec of_kind(AttentionKind kind) {
  AttentionSpec spec;
  spec.kind = kind;
  return spec;
}

const std::vector<KindSection>& kind_sections() {
  static const std::vector<KindSection> sections = {
      attention_kind(AttentionKind::full, "Attention over every earlier token.", nullptr),
      attention_kind(AttentionKind::sliding_window, "Attention over the last window_tokens tokens.",
                     "tokens it looks back on"),
      attention_kind(AttentionKind::chunked_local, "Attention inside chunks of window_tokens tokens.",
                     "tokens of one chunk"),
      mla_kind(),
      gdn_kind(),
      mamba2_kind(),
      mamba1_kind(),
      kda_kind(),
      short_conv_kind(),
      linear_kind(),
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
        .texts(key("unverified", "facts of this file that could not be confirmed, each in a few words"),
               &ModelText::unverified)
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
              &ModelText::mtp)
        .text(key("auxiliary", "kinds of recurrent layers outside the pattern, each a group of its own, one character "
                               "each; default: none"),
              &ModelText::auxiliary)
        .integer(count("indexer_bytes_per_token", "bytes per token and layer of full attention that an indexer keeps "
                                                  "outside the page; default 0", 0),
                 &ModelText::indexer_bytes_per_token)
        .integer(count("extra_blocks_per_request", "block ids of a request beside its tokens and states, for a ring or "
                                                   "a tail; default 0", 0),
                 &ModelText::extra_blocks_per_request);
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
