#include <algorithm>
#include <set>

#include "mamba/recurrent_spec.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

/// Takes the place of any member of a spec.
struct AnyNumber {
  template <class Number>
  operator Number() const;
};

/// Members of an aggregate: as many as it can be made of.
template <class Spec, class... Numbers>
constexpr std::size_t num_members() {
  if constexpr (requires { Spec{Numbers{}..., AnyNumber{}}; })
    return num_members<Spec, Numbers..., AnyNumber>();
  else
    return sizeof...(Numbers);
}

/// 1 where keeping rows of drafts is a member that no key of the model sets: the engine chooses it (hold_drafts).
template <class Spec>
std::size_t num_choices_of_engines(const FamilyTable<Spec>& table) {
  if constexpr (requires { &Spec::conv_holds_drafts; }) {
    const decltype(FamilyField<Spec>::member) drafts = &Spec::conv_holds_drafts;
    return std::none_of(table.fields.begin(), table.fields.end(),
                        [&](const FamilyField<Spec>& field) { return field.member == drafts; });
  }
  return 0;
}

TEST_CASE("law: the fields of a family are the members of its spec, each once and under a name of its own") {
  for_each_family([](auto spec) {
    using Spec = decltype(spec);
    const FamilyTable<Spec>& table = family_of(spec);
    CAPTURE(table.name);
    CHECK(table.fields.size() + num_choices_of_engines(table) == num_members<Spec>());
    std::set<std::string_view> names;
    for (const FamilyField<Spec>& field : table.fields) {
      CAPTURE(field.name);
      CHECK(names.insert(field.name).second);
      // No field before it is the same member: after it is changed, all of them are what they were.
      static const Spec defaults;
      static Spec changed;  // static, because GCC 12 takes members of a type that a spec has none of for unset
      changed = defaults;
      std::visit([&](auto member) { changed.*member = changed.*member == 0 ? 1 : 0; }, field.member);
      for (const FamilyField<Spec>& other : table.fields) {
        const bool same = std::visit([&](auto member) { return changed.*member == defaults.*member; }, other.member);
        CHECK(same == (&other != &field));
      }
    }
  });
}

TEST_CASE("law: every axis of every state has one rule, whose inputs are named once") {
  for_each_family([](auto spec) {
    using Spec = decltype(spec);
    for (const FamilyField<Spec>& field : family_of(spec).fields)
      if (const auto* member = std::get_if<std::int64_t Spec::*>(&field.member)) spec.**member = 4;
    const StateContext context{2, 3, DType::bf16, DType::fp32};
    std::set<std::pair<std::string_view, std::string_view>> ruled;
    for (const AxisRule& rule : axis_rules(spec, context)) {
      CAPTURE(rule.tensor);
      CAPTURE(rule.axis);
      CHECK(ruled.emplace(rule.tensor, rule.axis).second);
      std::set<std::string_view> symbols;
      for (const AxisRule::Input& input : rule.inputs) CHECK(symbols.insert(input.symbol).second);
    }
    std::size_t num_axes = 0;
    const StateSpec state = state_of(spec, context);
    for (const StateTensor& tensor : state.tensors)
      for (const Axis& axis : tensor.layout.axes()) {
        ++num_axes;
        CHECK(ruled.contains({std::string_view(tensor.name), axis.name.view()}));
      }
    CHECK(num_axes == ruled.size());
  });
}

TEST_CASE("edge: a field must be given exactly where its default is no value it may have") {
  const auto required = [](auto spec) {
    std::vector<std::string_view> names;
    for (const auto& field : family_of(spec).fields)
      if (is_required(field)) names.push_back(field.name);
    return names;
  };
  using Names = std::vector<std::string_view>;
  CHECK(required(GdnSpec{}) == Names{"key_heads", "value_heads", "key_head_dim", "value_head_dim", "conv_kernel"});
  CHECK(required(Mamba2Spec{}) == Names{"heads", "head_dim", "state_size"});
  CHECK(required(Mamba1Spec{}) == Names{"inner_size", "state_size"});
  CHECK(required(KdaSpec{}) == Names{"heads", "head_dim"});
  CHECK(required(ShortConvSpec{}) == Names{"channels"});
  CHECK(required(LinearAttentionSpec{}) == Names{"heads", "head_dim"});
  CHECK(required(RgLruSpec{}) == Names{"lru_width", "heads"});
  CHECK(required(Rwkv4Spec{}) == Names{"hidden_size", "attention_size"});
  CHECK(required(RwkvSpec{}) == Names{"version", "hidden_size", "heads", "head_dim"});
  CHECK(required(XlstmSpec{}) == Names{"heads", "key_head_dim", "value_head_dim"});
  CHECK(required(StreamConvsSpec{}) == Names{"kv_heads", "head_dim", "hidden_size"});
  CHECK(required(CcaSpec{}) == Names{"query_heads", "kv_heads", "head_dim", "delayed_size"});
}

TEST_CASE("law: names of families differ") {
  std::set<std::string_view> names;
  for_each_family([&](const auto& spec) { CHECK(names.insert(family_of(spec).name).second); });
  CHECK(names.size() == std::variant_size_v<RecurrentSpec>);
}

}  // namespace
}  // namespace hybridkv
