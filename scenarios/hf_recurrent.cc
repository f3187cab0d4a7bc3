#include "scenarios/hf_recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "mamba/recurrent_spec.h"
#include "scenarios/hf_attention.h"
#include "scenarios/hf_kind_parts.h"
#include "scenarios/key_table.h"
#include "scenarios/model_tree.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

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
YamlNode family_kind(const HfFields& fields, std::string_view config, HfEntries known) {
  std::vector<std::pair<std::string_view, HfNumber>> entries;
  for (const FamilyField<Spec>& field : family_of(Spec{}).fields) {
    const auto given = std::find_if(known.begin(), known.end(), [&](const auto& e) { return e.first == field.name; });
    if (given != known.end())
      entries.push_back(*given);
    else if (const auto* names = published_names(field, config))
      entries.emplace_back(field.name, fields.number(*names, std::string(field.published_doc)));
  }
  YamlNode kind = hf_typed_kind(family_of(Spec{}).name, entries.front().second.place);
  for (const auto& [key, number] : entries) add_hf_number(kind, key, number);
  return kind;
}

YamlNode gdn_kind(const HfFields& fields) {
  const HfNumber key_heads = declared<GdnSpec>(fields, "qwen3_next", "key_heads");
  const HfNumber value_heads = declared<GdnSpec>(fields, "qwen3_next", "value_heads");
  require_hf_multiple(value_heads, "value heads", key_heads, "key heads");
  YamlNode kind = family_kind<GdnSpec>(fields, "qwen3_next", {{"key_heads", key_heads}, {"value_heads", value_heads}});
  const YamlNode* negative = fields.find({"linear_allow_neg_eigval"});
  if (negative && read_flag(fields.path("linear_allow_neg_eigval"), *negative))
    tree_add(kind, "doubled_beta", tree_scalar("true", negative->place));
  return kind;
}

/// The inner size of a Mamba layer: declared, or expand * hidden_size; nothing where neither is.
std::optional<HfNumber> inner_size(const HfFields& fields, const std::vector<std::string>& expand_names) {
  if (const auto inner = fields.optional_number({"mamba_d_ssm"})) return inner;
  const auto expand = fields.optional_number(expand_names);
  if (!expand) return std::nullopt;
  const HfNumber hidden = hf_hidden_size(fields, "channels of the model, of which the inner size is a multiple");
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
    const bool inner_is_written = fields.find_written({"mamba_d_ssm"}) || fields.find_written(expand_names);
    if (inner && inner_is_written && heads.value * head.value != inner->value)
      fail_at(head.place, "{}: {} heads of {} channels are {}, but {} in line {} is {}; one of them is wrong",
              head.name, heads.value, head.value, heads.value * head.value, inner->name, inner->place.line,
              inner->value);
    return head;
  }
  if (!inner) throw fields.missing({published.names.front(), "mamba_d_ssm", expand_names.front()}, published.doc);
  require_hf_multiple(*inner, "channels", heads, "mamba heads");
  return hf_number_at(inner->value / heads.value, *inner);
}

YamlNode mamba2_of(const HfFields& fields, std::string_view config, const HfNumber& heads, const HfNumber& head_dim) {
  const HfNumber groups = declared<Mamba2Spec>(fields, config, "groups");
  require_hf_multiple(heads, "mamba heads", groups, "groups");
  return family_kind<Mamba2Spec>(fields, config, {{"heads", heads}, {"head_dim", head_dim}, {"groups", groups}});
}

YamlNode mamba2_with_inner_size(const HfFields& fields, std::string_view config,
                                const std::vector<std::string>& expand_names) {
  const HfNumber heads = declared<Mamba2Spec>(fields, config, "heads");
  return mamba2_of(fields, config, heads, mamba2_head_dim(fields, config, heads, expand_names));
}

YamlNode mamba2_kind(const HfFields& fields) {
  return mamba2_with_inner_size(fields, "granitemoehybrid", {"mamba_expand"});
}

YamlNode zamba2_kind(const HfFields& fields) {
  const std::vector<std::string> expand_names{"mamba_expand", "expansion_factor"};
  const bool says_heads = fields.find_written(published_field<Mamba2Spec>("zamba2", "heads").names) != nullptr;
  const bool says_channels = fields.find_written(published_field<Mamba2Spec>("zamba2", "head_dim").names) != nullptr;
  if (says_heads || !says_channels) return mamba2_with_inner_size(fields, "zamba2", expand_names);
  // Earlier files declare the channels of a head and leave the number of heads to the inner size.
  const auto inner = inner_size(fields, expand_names);
  const auto head = fields.optional_number(published_field<Mamba2Spec>("zamba2", "head_dim").names);
  if (!inner || !head) throw fields.missing({"n_mamba_heads", "mamba_headdim", "mamba_expand"}, "mamba heads");
  require_hf_multiple(*inner, "channels", *head, "channels of a mamba head");
  return mamba2_of(fields, "zamba2", hf_number_at(inner->value / head->value, *inner), *head);
}

/// Mamba-2 whose heads are both declared, under the names of `config`.
YamlNode mamba2_by_heads(const HfFields& fields, std::string_view config) {
  return mamba2_of(fields, config, declared<Mamba2Spec>(fields, config, "heads"),
                   declared<Mamba2Spec>(fields, config, "head_dim"));
}

YamlNode mamba1_kind(const HfFields& fields, std::string_view config, const std::string& expand_name) {
  const auto inner = inner_size(fields, {expand_name});
  if (!inner) throw fields.missing({expand_name}, "by how much the inner size is larger than hidden_size");
  return family_kind<Mamba1Spec>(fields, config, {{"inner_size", *inner}});
}

YamlNode plamo2_kind(const HfFields& fields) {
  const HfNumber heads = fields.number({"mamba_num_heads"}, "mamba heads");
  const HfNumber head = fields.number({"hidden_size_per_head"}, "channels of one head");
  return family_kind<Mamba1Spec>(fields, "jamba", {{"inner_size", hf_number_at(heads.value * head.value, heads)}});
}

YamlNode short_conv_kind(const HfFields& fields) {
  const auto conv_dim = fields.optional_number({"conv_dim"});
  const HfNumber channels = conv_dim ? *conv_dim : hf_hidden_size(fields, "channels of the convolution");
  return family_kind<ShortConvSpec>(fields, "lfm2", {{"channels", channels}});
}

/// Channels of a head of the attention, which recurrent layers without a field of their own share.
HfNumber attention_head_dim(const HfFields& fields, const HfNumber& heads) {
  const auto head = fields.optional_number({"head_dim"});
  return head ? *head : hf_head_size(fields, heads, 1);
}

YamlNode linear_kind(const HfFields& fields) {
  const HfNumber heads = fields.number({"num_attention_heads"}, "heads of linear attention");
  return family_kind<LinearAttentionSpec>(fields, "minimax",
                                          {{"heads", heads}, {"head_dim", attention_head_dim(fields, heads)}});
}

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

/// Kimi delta attention whose numbers stand in a section of their own.
YamlNode kimi_kind(const HfFields& fields) {
  const HfFields config = *fields.section("linear_attn_config");
  YamlNode kind = family_kind<KdaSpec>(config, "kimi_linear", {});
  add_log_decay_limit(kind, config, "gate_lower_bound", nullptr);
  return kind;
}

/// The same in the spelling of Transformers 5.23.
YamlNode kda_kind(const HfFields& fields) {
  const HfNumber heads = fields.number({"linear_num_heads"}, "heads of Kimi delta attention");
  const HfNumber head = fields.number({"linear_head_dim"}, "channels of one of its heads");
  const HfNumber taps = fields.number({"linear_conv_kernel_dim"}, "taps of the convolution");
  YamlNode kind = family_kind<KdaSpec>(fields, "", {{"heads", heads}, {"head_dim", head}, {"conv_kernel", taps}});
  add_log_decay_limit(kind, fields, "linear_lower_bound", nullptr);
  return kind;
}

/// Kimi delta attention with the heads of the attention. A file that Transformers 5.23 wrote says linear_head_dim,
/// since its head_dim is the part for RoPE.
YamlNode bailing_kind(const HfFields& fields) {
  const HfNumber heads = fields.number({"num_attention_heads"}, "heads of Kimi delta attention");
  const bool says_own = fields.find_written({"linear_head_dim"}) != nullptr;
  const HfNumber head = says_own ? *fields.optional_number({"linear_head_dim"}) : attention_head_dim(fields, heads);
  YamlNode kind = family_kind<KdaSpec>(fields, "bailing_hybrid", {{"heads", heads}, {"head_dim", head}});
  if (fields.flag("kda_safe_gate", true)) add_log_decay_limit(kind, fields, "kda_lower_bound", "5");
  return kind;
}

YamlNode rg_lru_kind(const HfFields& fields) {
  const auto declared_width = fields.optional_number({"lru_width"});
  const HfNumber width = declared_width ? *declared_width : hf_hidden_size(fields, "channels of the recurrence");
  return family_kind<RgLruSpec>(fields, "recurrent_gemma", {{"lru_width", width}});
}

YamlNode rwkv4_kind(const HfFields& fields) {
  const HfNumber hidden = hf_hidden_size(fields, "channels that the token before is mixed into");
  const auto attention = fields.optional_number({"attention_hidden_size"});
  return family_kind<Rwkv4Spec>(fields, "rwkv",
                                {{"hidden_size", hidden}, {"attention_size", attention ? *attention : hidden}});
}

/// RWKV-5 to 7: heads of head_dim (also head_size) channels, as many as fill the attention.
YamlNode rwkv_kind(const HfFields& fields) {
  const HfNumber hidden = hf_hidden_size(fields, "channels that the token before is mixed into");
  const auto attention = fields.optional_number({"attention_hidden_size"});
  const HfNumber width = attention ? *attention : hidden;
  const HfNumber head = fields.number({"head_dim", "head_size"}, "channels of one head");
  require_hf_multiple(width, "channels", head, "channels of a head");
  const std::int64_t version = fields.model_type().back() - '0';
  return hf_kind("rwkv", {{"version", hf_number_at(version, hidden)},
                          {"hidden_size", hidden},
                          {"heads", hf_number_at(width.value / head.value, head)},
                          {"head_dim", head}});
}

/// Channels of a head of an xLSTM: its share of the width times a factor.
HfNumber xlstm_head_dim(const HfFields& fields, const HfNumber& heads, const char* name) {
  const HfNumber width = hf_hidden_size(fields, "channels of the model");
  const YamlNode* factor = fields.find({name});
  if (!factor) throw fields.missing({name}, "channels of the heads for each of the model");
  const ParsedReal parsed = parse_real(factor->text);
  const double channels = static_cast<double>(width.value) * parsed.value;
  if (!parsed.problem.empty() || factor->quoted || channels < 1 || channels > 1e9)
    fail_at(factor->place, "{}: {}, where a factor of the width is expected", name, describe_json(*factor));
  const HfNumber whole{static_cast<std::int64_t>(channels), name, factor->place};
  require_hf_multiple(whole, "channels", heads, "heads");
  return hf_number_at(whole.value / heads.value, whole);
}

YamlNode xlstm_kind(const HfFields& fields) {
  const HfNumber heads = declared<XlstmSpec>(fields, "xlstm", "heads");
  return family_kind<XlstmSpec>(fields, "xlstm",
                                {{"heads", heads},
                                 {"key_head_dim", xlstm_head_dim(fields, heads, "qk_dim_factor")},
                                 {"value_head_dim", xlstm_head_dim(fields, heads, "v_dim_factor")}});
}

/// One way in which configs declare a recurrent layer: the fields that tell it, all of which are there, and its reader.
struct RecurrentForm {
  std::vector<std::string> fields;
  YamlNode (*read)(const HfFields&);
};

const std::vector<RecurrentForm>& recurrent_forms() {
  static const std::vector<RecurrentForm> forms = {
      {{"linear_attn_config"}, kimi_kind},
      {{"linear_num_value_heads"}, gdn_kind},
      {{"short_conv_kernel_size"}, bailing_kind},
      {{"linear_num_heads", "linear_head_dim"}, kda_kind},
      {{"conv_L_cache"}, short_conv_kind},
      {{"mamba_n_heads"}, mamba2_kind},
      {{"hidden_size_per_head", "mamba_num_heads"}, plamo2_kind},
      {{"mamba_num_heads"}, [](const HfFields& fields) { return mamba2_by_heads(fields, "nemotron_h"); }},
      {{"mamba_ngroups"}, zamba2_kind},
      {{"mamba_d_state"}, [](const HfFields& fields) { return mamba1_kind(fields, "jamba", "mamba_expand"); }},
      {{"state_size", "n_groups"}, [](const HfFields& fields) { return mamba2_by_heads(fields, "mamba2"); }},
      {{"state_size", "expand"}, [](const HfFields& fields) { return mamba1_kind(fields, "mamba", "expand"); }},
      {{"attn_type_list"}, linear_kind},
      {{"linear_attn_alpha_factor"}, linear_kind},
      {{"layernorm_linear_attention_alpha"}, linear_kind},
      {{"layer_group_size"}, linear_kind},
      {{"conv1d_width"}, rg_lru_kind},
      {{"qk_dim_factor"}, xlstm_kind},
  };
  return forms;
}

}  // namespace

YamlNode hf_recurrent_kind(const HfFields& fields) {
  // What RWKV keeps follows from the width alone, so that no field tells it.
  if (fields.model_type() == "rwkv") return rwkv4_kind(fields);
  if (fields.model_type().starts_with("rwkv")) return rwkv_kind(fields);
  for (const RecurrentForm& form : recurrent_forms()) {
    const bool declared_all = std::all_of(form.fields.begin(), form.fields.end(),
                                          [&](const std::string& name) { return fields.find({name}) != nullptr; });
    if (declared_all) return form.read(fields);
  }
  std::vector<std::string> names;
  for (const RecurrentForm& form : recurrent_forms()) names.push_back(form.fields.front());
  throw fields.missing(names, "what a recurrent layer keeps");
}

namespace {

/// A number that the kind of attention has already.
HfNumber number_of_kind(const YamlNode& kind, const char* key) {
  const YamlNode& node = *kind.find(key);
  return {std::strtoll(node.text.c_str(), nullptr, 10), key, node.place};
}

}  // namespace

std::optional<YamlNode> hf_convolutions_of(const HfFields& fields, const YamlNode& attention) {
  if (!attention.find("head_size")) return std::nullopt;
  const HfNumber kv = number_of_kind(attention, "kv_heads"), head = number_of_kind(attention, "head_size");
  if (fields.find({"cca_time0"}))
    return family_kind<CcaSpec>(fields, "zaya",
                                {{"query_heads", number_of_kind(attention, "query_heads")},
                                 {"kv_heads", kv},
                                 {"head_dim", head},
                                 {"delayed_size", hf_number_at(kv.value * head.value / 2, head)}});
  if (!fields.find(published_field<StreamConvsSpec>("inkling", "conv_kernel").names)) return std::nullopt;
  return family_kind<StreamConvsSpec>(fields, "inkling", {{"kv_heads", kv}, {"head_dim", head}});
}

}  // namespace hybridkv
