#include "scenarios/hf_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "mamba/recurrent_spec.h"
#include "scenarios/key_table.h"
#include "scenarios/model_tree.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

using Entries = std::initializer_list<std::pair<std::string_view, HfNumber>>;

void add_number(YamlNode& kind, std::string_view key, const HfNumber& number) {
  tree_add(kind, std::string(key), tree_scalar(std::to_string(number.value), number.place));
}

/// {type: TYPE}; the kind as a whole stands where its first number does.
YamlNode typed_kind(std::string_view type, const Place& place) {
  YamlNode kind = tree_mapping(place);
  tree_add(kind, "type", tree_scalar(std::string(type), place));
  return kind;
}

/// {type: TYPE, key: number, …}.
YamlNode kind_of(const char* type, Entries entries) {
  YamlNode kind = typed_kind(type, entries.begin()->second.place);
  for (const auto& [key, number] : entries) add_number(kind, key, number);
  return kind;
}

/// Names under which configs of this class declare the field; none where they leave it to a rule.
template <class Spec>
const std::vector<std::string>* published_names(const FamilyField<Spec>& field, std::string_view config) {
  for (const PublishedNames& published : field.published)
    if (published.config == config) return &published.names;
  return nullptr;
}

/// The names and the explanation of one field of a family in configs of this class. Pre: they declare it.
struct PublishedField {
  const std::vector<std::string>& names;
  std::string doc;
};

template <class Spec>
PublishedField published_field(std::string_view config, std::string_view name) {
  for (const FamilyField<Spec>& field : family_of(Spec{}).fields)
    if (const auto* names = published_names(field, config); names && field.name == name)
      return {*names, std::string(field.published_doc)};
  throw std::logic_error("a published config is asked for a field that it leaves to a rule");
}

/// The number that configs of this class declare for one field of a family.
template <class Spec>
HfNumber declared(const HfFields& fields, std::string_view config, std::string_view name) {
  const PublishedField field = published_field<Spec>(config, name);
  return fields.number(field.names, field.doc);
}

/// A recurrent kind: numbers that are known already, the others as configs of this class declare them.
template <class Spec>
YamlNode family_kind(const HfFields& fields, std::string_view config, Entries known) {
  std::vector<std::pair<std::string_view, HfNumber>> entries;
  for (const FamilyField<Spec>& field : family_of(Spec{}).fields) {
    const auto given = std::find_if(known.begin(), known.end(), [&](const auto& e) { return e.first == field.name; });
    if (given != known.end())
      entries.push_back(*given);
    else if (const auto* names = published_names(field, config))
      entries.emplace_back(field.name, fields.number(*names, std::string(field.published_doc)));
  }
  YamlNode kind = typed_kind(family_of(Spec{}).name, entries.front().second.place);
  for (const auto& [key, number] : entries) add_number(kind, key, number);
  return kind;
}

/// Fails where `whole` is no multiple of `part`; the nouns say what each counts.
void require_multiple(const HfNumber& whole, const char* wholes, const HfNumber& part, const char* parts) {
  if (whole.value % part.value == 0) return;
  fail_at(whole.place, "{}: {} {} are no multiple of {} {} ({} in line {}); one of the two is wrong", whole.name,
          whole.value, wholes, part.value, parts, part.name, part.place.line);
}

HfNumber number_at(std::int64_t value, const HfNumber& from) { return {value, from.name, from.place}; }

struct AttentionHeads {
  HfNumber query;
  HfNumber kv;
};

AttentionHeads attention_heads(const HfFields& fields) {
  const AttentionHeads heads{fields.number({"num_attention_heads"}, "query heads"),
                             fields.number({"num_key_value_heads"}, "K/V heads")};
  require_multiple(heads.query, "query heads", heads.kv, "K/V heads");
  return heads;
}

const std::vector<std::string> head_dim_names = {"head_dim", "attention_head_dim", "hidden_size_per_head"};

std::optional<HfNumber> head_dim(const HfFields& fields) { return fields.optional_number(head_dim_names); }

/// Attention of heads of this size; V heads have v_head_dim channels where the config says so.
YamlNode attention_of(const HfFields& fields, const char* type, const AttentionHeads& heads, const HfNumber& head) {
  YamlNode kind = kind_of(type, {{"query_heads", heads.query}, {"kv_heads", heads.kv}});
  const auto v = fields.optional_number({"v_head_dim"});
  if (!v || v->value == head.value) {
    add_number(kind, "head_size", head);
  } else {
    add_number(kind, "head_size_k", head);
    add_number(kind, "head_size_v", *v);
  }
  return kind;
}

/// Channels of one of these heads: declared, or its share of `width` times hidden_size.
HfNumber head_size(const HfFields& fields, const HfNumber& heads, std::int64_t width) {
  if (const auto declared = head_dim(fields)) return *declared;
  const HfNumber hidden = fields.number({"hidden_size"}, "channels of the model, which give the head size");
  require_multiple(number_at(hidden.value * width, hidden), "channels of attention", heads, "heads");
  return number_at(hidden.value * width / heads.value, hidden);
}

}  // namespace

YamlNode hf_attention(const HfFields& fields, std::int64_t width) {
  const AttentionHeads heads = attention_heads(fields);
  return attention_of(fields, "full_attention", heads, head_size(fields, heads.query, width));
}

YamlNode hf_attention_with_head_dim(const HfFields& fields) {
  const AttentionHeads heads = attention_heads(fields);
  const auto head = head_dim(fields);
  if (!head) throw fields.missing(head_dim_names, "channels of one attention head");
  return attention_of(fields, "full_attention", heads, *head);
}

namespace {

/// Attention that looks back on so many tokens.
YamlNode windowed_attention(const HfFields& fields, const char* type, const HfNumber& window) {
  const AttentionHeads heads = attention_heads(fields);
  YamlNode kind = attention_of(fields, type, heads, head_size(fields, heads.query, 1));
  add_number(kind, "window_tokens", window);
  return kind;
}

}  // namespace

YamlNode hf_sliding_attention(const HfFields& fields) {
  return windowed_attention(
      fields, "sliding_window",
      fields.number({"sliding_window"}, "tokens that a layer of sliding attention looks back on"));
}

YamlNode hf_chunked_attention(const HfFields& fields) {
  return windowed_attention(fields, "chunked_local",
                            fields.number({"attention_chunk_size"}, "tokens of one chunk of attention"));
}

YamlNode hf_mla(const HfFields& fields) {
  return kind_of("mla", {{"query_heads", fields.number({"num_attention_heads"}, "query heads")},
                         {"kv_lora_rank", fields.number({"kv_lora_rank"}, "channels of the latent")},
                         {"rope_dim", fields.number({"qk_rope_head_dim"}, "channels that the latent keeps for RoPE")}});
}

YamlNode hf_bailing_attention(const HfFields& fields) {
  return fields.find({"kv_lora_rank"}) ? hf_mla(fields) : hf_attention(fields, 1);
}

YamlNode hf_gdn(const HfFields& fields) {
  const HfNumber key_heads = declared<GdnSpec>(fields, "qwen3_next", "key_heads");
  const HfNumber value_heads = declared<GdnSpec>(fields, "qwen3_next", "value_heads");
  require_multiple(value_heads, "value heads", key_heads, "key heads");
  return family_kind<GdnSpec>(fields, "qwen3_next", {{"key_heads", key_heads}, {"value_heads", value_heads}});
}

YamlNode hf_olmo_gdn(const HfFields& fields) {
  YamlNode kind = hf_gdn(fields);
  const YamlNode* allowed = fields.find({"linear_allow_neg_eigval"});
  if (!allowed || read_flag(fields.path("linear_allow_neg_eigval"), *allowed))
    tree_add(kind, "doubled_beta", tree_scalar("true", allowed ? allowed->place : kind.place));
  return kind;
}

namespace {

/// The inner size of a Mamba layer: declared, or expand * hidden_size; nothing where neither is.
std::optional<HfNumber> inner_size(const HfFields& fields, const std::vector<std::string>& expand_names) {
  if (const auto inner = fields.optional_number({"mamba_d_ssm"})) return inner;
  const auto expand = fields.optional_number(expand_names);
  if (!expand) return std::nullopt;
  const HfNumber hidden =
      fields.number({"hidden_size"}, "channels of the model, of which the inner size is a multiple");
  return HfNumber{expand->value * hidden.value, fmt::format("{} * {}", expand->name, hidden.name), expand->place};
}

/// Channels of a Mamba-2 head: the declared number, which must fit the inner size, or its share of the inner size.
HfNumber mamba2_head_dim(const HfFields& fields, std::string_view config, const HfNumber& heads,
                         const std::vector<std::string>& expand_names) {
  const PublishedField published = published_field<Mamba2Spec>(config, "head_dim");
  const YamlNode* found = fields.find(published.names);
  const bool automatic = !found || (found->quoted && found->text == "auto");
  const auto inner = inner_size(fields, expand_names);
  if (!automatic) {
    const HfNumber head = fields.number(published.names, published.doc);
    if (inner && heads.value * head.value != inner->value)
      fail_at(head.place, "{}: {} heads of {} channels are {}, but {} in line {} is {}; one of them is wrong",
              head.name, heads.value, head.value, heads.value * head.value, inner->name, inner->place.line,
              inner->value);
    return head;
  }
  if (!inner) throw fields.missing({published.names.front(), "mamba_d_ssm", expand_names.front()}, published.doc);
  require_multiple(*inner, "channels", heads, "mamba heads");
  return number_at(inner->value / heads.value, *inner);
}

YamlNode mamba2_of(const HfFields& fields, std::string_view config, const HfNumber& heads, const HfNumber& head_dim) {
  const HfNumber groups = declared<Mamba2Spec>(fields, config, "groups");
  require_multiple(heads, "mamba heads", groups, "groups");
  return family_kind<Mamba2Spec>(fields, config, {{"heads", heads}, {"head_dim", head_dim}, {"groups", groups}});
}

YamlNode mamba1_of(const HfFields& fields, const HfNumber& inner) {
  return family_kind<Mamba1Spec>(fields, "jamba", {{"inner_size", inner}});
}

YamlNode mamba2_with_inner_size(const HfFields& fields, std::string_view config,
                                const std::vector<std::string>& expand_names) {
  const HfNumber heads = declared<Mamba2Spec>(fields, config, "heads");
  return mamba2_of(fields, config, heads, mamba2_head_dim(fields, config, heads, expand_names));
}

}  // namespace

YamlNode hf_mamba2(const HfFields& fields) {
  return mamba2_with_inner_size(fields, "granitemoehybrid", {"mamba_expand"});
}

YamlNode hf_zamba2_mamba2(const HfFields& fields) {
  const std::vector<std::string> expand_names{"mamba_expand", "expansion_factor"};
  if (fields.find(published_field<Mamba2Spec>("zamba2", "heads").names))
    return mamba2_with_inner_size(fields, "zamba2", expand_names);
  // Earlier files declare the channels of a head and leave the number of heads to the inner size.
  const auto inner = inner_size(fields, expand_names);
  const auto head = fields.optional_number(published_field<Mamba2Spec>("zamba2", "head_dim").names);
  if (!inner || !head) throw fields.missing({"n_mamba_heads", "mamba_headdim", "mamba_expand"}, "mamba heads");
  require_multiple(*inner, "channels", *head, "channels of a mamba head");
  return mamba2_of(fields, "zamba2", number_at(inner->value / head->value, *inner), *head);
}

YamlNode hf_nemotron_mamba2(const HfFields& fields) {
  const HfNumber heads = declared<Mamba2Spec>(fields, "nemotron_h", "heads");
  return mamba2_of(fields, "nemotron_h", heads, declared<Mamba2Spec>(fields, "nemotron_h", "head_dim"));
}

YamlNode hf_mamba1(const HfFields& fields) {
  const auto inner = inner_size(fields, {"mamba_expand"});
  if (!inner) throw fields.missing({"mamba_expand"}, "by how much the inner size is larger than hidden_size");
  return mamba1_of(fields, *inner);
}

YamlNode hf_plamo2_mamba1(const HfFields& fields) {
  const HfNumber heads = fields.number({"mamba_num_heads"}, "mamba heads");
  const HfNumber head = fields.number({"hidden_size_per_head"}, "channels of one head");
  return mamba1_of(fields, number_at(heads.value * head.value, heads));
}

YamlNode hf_short_conv(const HfFields& fields) {
  const auto conv_dim = fields.optional_number({"conv_dim"});
  const HfNumber channels = conv_dim ? *conv_dim : fields.number({"hidden_size"}, "channels of the convolution");
  return family_kind<ShortConvSpec>(fields, "lfm2", {{"channels", channels}});
}

YamlNode hf_linear(const HfFields& fields) {
  const HfNumber heads = fields.number({"num_attention_heads"}, "heads of linear attention");
  return family_kind<LinearAttentionSpec>(fields, "minimax",
                                          {{"heads", heads}, {"head_dim", head_size(fields, heads, 1)}});
}

namespace {

/// Limits the decay of a kda kind by the field that bounds its log from below; as `otherwise` says where it is absent.
void add_log_decay_limit(YamlNode& kind, const HfFields& fields, const std::string& name, const char* otherwise) {
  const YamlNode* bound = fields.find({name});
  if (!bound) {
    if (otherwise) tree_add(kind, "log_decay_limit", tree_scalar(otherwise, kind.place));
    return;
  }
  const bool negative = bound->kind == YamlNode::Kind::scalar && !bound->quoted && bound->text.starts_with('-');
  const ParsedReal limit = parse_real(negative ? std::string_view(bound->text).substr(1) : "");
  if (!limit.problem.empty() || limit.value == 0)
    fail_at(bound->place, "{}: {}, where a number below 0 is expected, the least log of a decay", fields.path(name),
            describe_json(*bound));
  tree_add(kind, "log_decay_limit", tree_scalar(fmt::format("{}", limit.value), bound->place));
}

}  // namespace

YamlNode hf_kda(const HfFields& fields) {
  const auto config = fields.section("linear_attn_config");
  if (!config) throw fields.missing({"linear_attn_config"}, "heads of Kimi delta attention");
  YamlNode kind = family_kind<KdaSpec>(*config, "kimi_linear", {});
  add_log_decay_limit(kind, *config, "gate_lower_bound", nullptr);
  return kind;
}

YamlNode hf_bailing_recurrent(const HfFields& fields) {
  if (!fields.optional_number(published_field<KdaSpec>("bailing_hybrid", "conv_kernel").names))
    return hf_linear(fields);
  const HfNumber heads = fields.number({"num_attention_heads"}, "heads of Kimi delta attention");
  YamlNode kind = family_kind<KdaSpec>(fields, "bailing_hybrid",
                                       {{"heads", heads}, {"head_dim", head_size(fields, heads, 1)}});
  const YamlNode* safe = fields.find({"kda_safe_gate"});
  if (!safe || read_flag(fields.path("kda_safe_gate"), *safe))
    add_log_decay_limit(kind, fields, "kda_lower_bound", "5");
  return kind;
}

}  // namespace hybridkv
