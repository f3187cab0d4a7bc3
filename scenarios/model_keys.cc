#include "scenarios/model_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <variant>

#include "base/suggest.h"
#include "scenarios/engine_words.h"
#include "scenarios/key_builders.h"
#include "scenarios/layer_pattern.h"
#include "scenarios/parameter_keys.h"

namespace hybridkv {

namespace {

/// How many tokens share an entry says nothing where its bytes are not known.
void check_indexer(const std::string& path, const YamlNode& node) {
  const YamlNode* const shared = node.find("indexer_tokens_per_entry");
  if (shared && !node.find("indexer_bytes_per_entry"))
    throw error_at(shared->key_place,
                   path + ".indexer_tokens_per_entry: goes with indexer_bytes_per_entry; give both");
}

/// K and V of one size are one key, of two sizes two keys; query heads share KV heads evenly.
void check_attention(const std::string& path, const YamlNode& node, const AttentionSpec& layer) {
  check_indexer(path, node);
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

/// What a layer keeps for sparse attention to choose by.
template <class Spec>
void add_indexer_keys(Section<Spec>& keys, const char* otherwise) {
  const auto set = [](std::int64_t IndexerSpec::*member) {
    return [member](Spec& spec, std::int64_t value) {
      if (!spec.indexer) spec.indexer.emplace();
      (*spec.indexer).*member = value;
    };
  };
  keys.integer_by(count("indexer_bytes_per_entry",
                        fmt::format("bytes that an indexer beside the layer keeps for a token, or for several; 0: "
                                    "there is none; default: {}", otherwise), 0),
                  set(&IndexerSpec::bytes_per_entry))
      .integer_by(tokens("indexer_tokens_per_entry", "tokens that share such an entry; default 1"),
                  set(&IndexerSpec::tokens_per_entry));
}

constexpr const char* by_model = "the model's indexer_bytes_per_token";

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
            LayerKind layer;
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
  if (kind == AttentionKind::full) add_indexer_keys(keys, by_model);
  return kind_section(type, std::move(keys), &LayerSpec::attention, of_kind(kind));
}

KindSection cross_kind() {
  const std::string type(to_string(AttentionKind::cross));
  Section<AttentionSpec> keys("a kind of type " + type,
                              "Attention to an encoder, whose K and V a request has from its start to its end (T5, "
                              "Whisper); beside attention in a layer, or alone.");
  add_type_key(keys, type);
  add_attention_keys(keys, nullptr);
  return kind_section(type, std::move(keys), &LayerSpec::cross, of_kind(AttentionKind::cross));
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
                  [](AttentionSpec& spec, std::int64_t channels) { spec.head_size_k += channels; })
      .integer(tokens("window_tokens", "tokens it looks back on, where it keeps no more; default: all of them"),
               &AttentionSpec::window_tokens);
  add_indexer_keys(keys, by_model);
  keys.check([](const std::string& path, const YamlNode& node, AttentionSpec&) { check_indexer(path, node); });
  AttentionSpec start = of_kind(AttentionKind::mla);
  start.kv_heads = 1;
  return kind_section(type, std::move(keys), &LayerSpec::attention, start);
}

/// The key of one field of a family. Its minimum is that of any count: what else the family asks of it, `validate` says
/// of specs from wherever they come.
template <class Spec>
void add_family_key(Section<Spec>& keys, const FamilyField<Spec>& field) {
  static const Spec defaults;
  const bool must = is_required(field);
  std::visit([&](auto member) {
    const auto start = defaults.*member;
    const std::string name(field.name);
    std::string doc(field.doc);
    if (!must) doc += fmt::format("; default {}", start);
    if (!field.default_note.empty()) doc += fmt::format(", {}", field.default_note);
    if constexpr (std::is_same_v<decltype(start), const bool>) {
      keys.flag(key(name, doc), member);
    } else if constexpr (std::is_same_v<decltype(start), const double>) {
      keys.number(key(name, doc), member);
    } else {
      const KeyInfo info = field.unit == FieldUnit::tokens ? tokens(name, doc) : count(name, doc);
      keys.integer(must ? required(info) : info, member);
    }
  }, field.member);
}

template <class Spec>
KindSection recurrent_kind() {
  const FamilyTable<Spec>& family = family_of(Spec{});
  const std::string type(family.name);
  Section<Spec> keys("a kind of type " + type, std::string(family.doc));
  add_type_key(keys, type);
  for (const FamilyField<Spec>& field : family.fields) add_family_key(keys, field);
  return kind_section(type, std::move(keys), &LayerSpec::recurrent, Spec{});
}

/// What a kind that reads another one says.
struct SharedKind : SharedKv {
  std::string of;
};

/// A layer that computes queries alone.
KindSection shared_kind() {
  Section<SharedKind> keys("a kind of type shared_kv",
                           "Attention that reads the K and V of an earlier layer and caches none (Gemma-3n).");
  add_type_key(keys, "shared_kv");
  keys.integer_by(required(count("query_heads", "query heads of the whole model")),
                  [](SharedKind& kind, std::int64_t heads) { kind.query_heads = heads; })
      .text(required(key("of", "the kind whose last earlier layer it reads")), &SharedKind::of);
  add_indexer_keys(keys, "0");
  keys.check([](const std::string& path, const YamlNode& node, SharedKind&) { check_indexer(path, node); });
  const auto section = std::make_shared<const Section<SharedKind>>(std::move(keys));
  return {"shared_kv", &section->info(),
          [section](ReadContext& context, const std::string& path, const YamlNode& node) {
            SharedKind spec;
            section->read(context, path, node, spec);
            LayerKind layer;
            layer.shared = spec;
            layer.of = spec.of;
            return layer;
          }};
}

/// A layer that caches nothing.
KindSection none_kind() {
  Section<LayerSpec> keys("a kind of type none", "A layer without a cache (MLP, MoE); '-' needs no declaration.");
  add_type_key(keys, "none");
  const auto section = std::make_shared<const Section<LayerSpec>>(std::move(keys));
  return {"none", &section->info(), [section](ReadContext& context, const std::string& path, const YamlNode& node) {
            LayerKind layer;
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

/// K and V can be read of layers that cache them.
void check_shared(const std::string& path, const YamlNode& node, const std::map<std::string, LayerKind>& kinds) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds)
    if (kind.attention) names.push_back(name);
  for (const YamlEntry& entry : node.entries) {
    const LayerKind& kind = kinds.at(entry.key);
    if (!kind.shared || std::find(names.begin(), names.end(), kind.of) != names.end()) continue;
    throw error_at(entry.value.find("of")->place,
                   fmt::format("{}.{}.of: {} is no kind with K and V of its own{}", path, entry.key,
                               in_quotes(kind.of), suggestion("", names, "these have them:")));
  }
}

std::map<std::string, LayerKind> read_kinds(ReadContext& context, const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::mapping || node.entries.empty())
    throw error_at(node.place, fmt::format("{}: {}, where at least one kind of layer is expected", path,
                                           node.entries.empty() ? "nothing" : describe(node)));
  std::map<std::string, LayerKind> kinds;
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
  check_shared(path, node, kinds);
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
  static const std::vector<KindSection> sections = [] {
    std::vector<KindSection> all = {
        attention_kind(AttentionKind::full, "Attention over every earlier token.", nullptr),
        attention_kind(AttentionKind::sliding_window, "Attention over the last window_tokens tokens.",
                       "tokens it looks back on"),
        attention_kind(AttentionKind::chunked_local, "Attention inside chunks of window_tokens tokens.",
                       "tokens of one chunk"),
        mla_kind(),
        cross_kind(),
        shared_kind(),
    };
    for_each_family([&](const auto& family) { all.push_back(recurrent_kind<std::decay_t<decltype(family)>>()); });
    all.push_back(none_kind());
    return all;
  }();
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
        .choice(dtype("kv_dtype", "element type of K and V that the checkpoint says, which some engines follow unless "
                                  "engine.kv_dtype is set; default: the model's"),
                &ModelText::kv_dtype, parse_dtype)
        .choice(dtype("ssm_dtype", "element type of recurrent states, where the model fixes it"), &ModelText::ssm_dtype,
                parse_dtype)
        .choice(dtype("ssm_cache_dtype", "the same where its config names it by mamba_ssm_cache_dtype, the only name "
                                         "that some engines read"),
                &ModelText::ssm_cache_dtype, parse_dtype)
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
                                                  "outside the page, where its kind does not say; default 0", 0),
                 &ModelText::indexer_bytes_per_token)
        .integer(count("extra_blocks_per_request", "block ids of a request beside its tokens and states, for a ring or "
                                                   "a tail; default 0", 0),
                 &ModelText::extra_blocks_per_request)
        .integer(tokens("encoder_tokens", "most tokens that its encoder reads; default: not known"),
                 &ModelText::encoder_tokens)
        .flag(key("kda_exports_states", "true where its kda layers can run the flash kernel, which exports states "
                                        "inside a chunk; default false"),
              &ModelText::kda_exports_states)
        .integer(count("ring_tokens",
                       fmt::format("tokens that the ring of a layer of full attention holds, without drafts: {} a "
                                   "group of its own in place of extra_blocks_per_request; default 0, not known",
                                   engines_with([](const EngineRules& rules) { return rules.one_allocation; })), 0),
                 &ModelText::ring_tokens)
        .integer(count("ring_bytes_per_token", "bytes of a token in that ring; default 0", 0),
                 &ModelText::ring_bytes_per_token)
        .texts(key("physical_orders", "orders of one allocation that the model's own attention reads, the first "
                                      "preferred; default: those of the backend"),
               &ModelText::physical_orders)
        .section(key("parameters", ""), &ModelText::parameters, parameter_keys());
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
