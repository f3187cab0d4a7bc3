#include "scenarios/hf_kinds.h"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "scenarios/key_table.h"
#include "scenarios/model_tree.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

using Entries = std::initializer_list<std::pair<const char*, HfNumber>>;

/// {type: TYPE, key: number, …}; the kind as a whole stands where its first number does.
YamlNode kind_of(const char* type, Entries entries) {
  const Place& place = entries.begin()->second.place;
  YamlNode kind = tree_mapping(place);
  tree_add(kind, "type", tree_scalar(type, place));
  for (const auto& [key, number] : entries)
    tree_add(kind, key, tree_scalar(std::to_string(number.value), number.place));
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
  const auto add = [&](const char* key, const HfNumber& size) {
    tree_add(kind, key, tree_scalar(std::to_string(size.value), size.place));
  };
  const auto v = fields.optional_number({"v_head_dim"});
  if (!v || v->value == head.value) {
    add("head_size", head);
  } else {
    add("head_size_k", head);
    add("head_size_v", *v);
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
  tree_add(kind, "window_tokens", tree_scalar(std::to_string(window.value), window.place));
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
  const HfNumber key_heads = fields.number({"linear_num_key_heads"}, "key heads of the gated delta net");
  const HfNumber value_heads = fields.number({"linear_num_value_heads"}, "value heads of the gated delta net");
  require_multiple(value_heads, "value heads", key_heads, "key heads");
  return kind_of("gdn", {{"key_heads", key_heads},
                         {"value_heads", value_heads},
                         {"key_head_dim", fields.number({"linear_key_head_dim"}, "channels of a key head")},
                         {"value_head_dim", fields.number({"linear_value_head_dim"}, "channels of a value head")},
                         {"conv_kernel", fields.number({"linear_conv_kernel_dim"}, "taps of the convolution")}});
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
HfNumber mamba2_head_dim(const HfFields& fields, const HfNumber& heads, const std::vector<std::string>& names,
                         const std::vector<std::string>& expand_names) {
  const YamlNode* declared = fields.find(names);
  const bool automatic = !declared || (declared->quoted && declared->text == "auto");
  const auto inner = inner_size(fields, expand_names);
  if (!automatic) {
    const HfNumber head = fields.number(names, "channels of one mamba head");
    if (inner && heads.value * head.value != inner->value)
      fail_at(head.place, "{}: {} heads of {} channels are {}, but {} in line {} is {}; one of them is wrong",
              head.name, heads.value, head.value, heads.value * head.value, inner->name, inner->place.line,
              inner->value);
    return head;
  }
  if (!inner) throw fields.missing({names.front(), "mamba_d_ssm", expand_names.front()}, "channels of one mamba head");
  require_multiple(*inner, "channels", heads, "mamba heads");
  return number_at(inner->value / heads.value, *inner);
}

/// Names under which the numbers of a Mamba-2 layer are published.
struct Mamba2Names {
  std::vector<std::string> heads, head_dim, expand, state, groups, conv, chunk;
};

YamlNode mamba2_of(const HfFields& fields, const Mamba2Names& names, const HfNumber& heads, const HfNumber& head_dim) {
  const HfNumber groups = fields.number(names.groups, "groups of the mamba layer");
  require_multiple(heads, "mamba heads", groups, "groups");
  return kind_of("mamba2", {{"heads", heads},
                            {"head_dim", head_dim},
                            {"state_size", fields.number(names.state, "size of the state of one channel")},
                            {"groups", groups},
                            {"conv_kernel", fields.number(names.conv, "taps of the convolution")},
                            {"chunk_size", fields.number(names.chunk, "tokens of one chunk of the scan")}});
}

YamlNode mamba1_of(const HfFields& fields, const HfNumber& inner) {
  return kind_of("mamba1", {{"inner_size", inner},
                            {"state_size", fields.number({"mamba_d_state"}, "size of the state of one channel")},
                            {"conv_kernel", fields.number({"mamba_d_conv"}, "taps of the convolution")}});
}

YamlNode mamba2_with_inner_size(const HfFields& fields, const Mamba2Names& names) {
  const HfNumber heads = fields.number(names.heads, "mamba heads");
  return mamba2_of(fields, names, heads, mamba2_head_dim(fields, heads, names.head_dim, names.expand));
}

}  // namespace

YamlNode hf_mamba2(const HfFields& fields) {
  return mamba2_with_inner_size(fields, {{"mamba_n_heads"},
                                         {"mamba_d_head"},
                                         {"mamba_expand"},
                                         {"mamba_d_state"},
                                         {"mamba_n_groups"},
                                         {"mamba_d_conv"},
                                         {"mamba_chunk_size"}});
}

YamlNode hf_zamba2_mamba2(const HfFields& fields) {
  const Mamba2Names names{{"n_mamba_heads"},
                          {"mamba_headdim"},
                          {"mamba_expand", "expansion_factor"},
                          {"mamba_d_state", "state_size"},
                          {"mamba_ngroups"},
                          {"mamba_d_conv", "conv_dimension"},
                          {"chunk_size"}};
  if (fields.find(names.heads)) return mamba2_with_inner_size(fields, names);
  // Earlier files declare the channels of a head and leave the number of heads to the inner size.
  const auto inner = inner_size(fields, names.expand);
  const auto head = fields.optional_number(names.head_dim);
  if (!inner || !head) throw fields.missing({"n_mamba_heads", "mamba_headdim", "mamba_expand"}, "mamba heads");
  require_multiple(*inner, "channels", *head, "channels of a mamba head");
  return mamba2_of(fields, names, number_at(inner->value / head->value, *inner), *head);
}

YamlNode hf_nemotron_mamba2(const HfFields& fields) {
  const Mamba2Names names{{"mamba_num_heads"}, {"mamba_head_dim"}, {}, {"ssm_state_size"}, {"n_groups"},
                          {"conv_kernel"},     {"chunk_size"}};
  return mamba2_of(fields, names, fields.number(names.heads, "mamba heads"),
                   fields.number(names.head_dim, "channels of one mamba head"));
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
  const auto declared = fields.optional_number({"conv_dim"});
  const HfNumber channels = declared ? *declared : fields.number({"hidden_size"}, "channels of the convolution");
  return kind_of("short_conv",
                 {{"channels", channels}, {"conv_kernel", fields.number({"conv_L_cache"}, "taps of the convolution")}});
}

YamlNode hf_linear(const HfFields& fields) {
  const HfNumber heads = fields.number({"num_attention_heads"}, "heads of linear attention");
  return kind_of("linear", {{"heads", heads}, {"head_dim", head_size(fields, heads, 1)}});
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
  YamlNode kind =
      kind_of("kda", {{"heads", config->number({"num_heads"}, "heads of Kimi delta attention")},
                      {"head_dim", config->number({"head_dim"}, "channels of one of its heads")},
                      {"conv_kernel", config->number({"short_conv_kernel_size"}, "taps of the convolution")}});
  add_log_decay_limit(kind, *config, "gate_lower_bound", nullptr);
  return kind;
}

YamlNode hf_bailing_recurrent(const HfFields& fields) {
  const auto conv = fields.optional_number({"short_conv_kernel_size"});
  if (!conv) return hf_linear(fields);
  const HfNumber heads = fields.number({"num_attention_heads"}, "heads of Kimi delta attention");
  YamlNode kind = kind_of("kda", {{"heads", heads}, {"head_dim", head_size(fields, heads, 1)}, {"conv_kernel", *conv}});
  const YamlNode* safe = fields.find({"kda_safe_gate"});
  if (!safe || read_flag(fields.path("kda_safe_gate"), *safe))
    add_log_decay_limit(kind, fields, "kda_lower_bound", "5");
  return kind;
}

}  // namespace hybridkv
