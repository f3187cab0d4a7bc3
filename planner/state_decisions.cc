#include "planner/state_decisions.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

namespace {

constexpr const char* shape_source = "vLLM MambaStateShapeCalculator";
constexpr const char* placing_source = "vLLM MambaSpec";

/// Why one axis of one tensor is as long as it is.
struct AxisRule {
  const char* tensor;
  const char* axis;
  std::string formula;
  std::vector<Term> inputs;
};

Term number(const char* symbol, std::int64_t value) { return {symbol, value, ""}; }

AxisRule steps(std::int64_t conv_kernel, const StateContext& context, bool holds_drafts = true) {
  if (!holds_drafts) return {"conv", "step", "K - 1", {number("K", conv_kernel)}};
  return {"conv", "step", "K - 1 + s", {number("K", conv_kernel), number("s", context.speculative_tokens)}};
}

AxisRule split(const char* tensor, const char* axis, const char* what, std::int64_t value,
               const StateContext& context) {
  return {tensor, axis, std::string(what) + " / TP", {number(what, value), number("TP", context.tensor_parallel)}};
}

AxisRule whole(const char* axis, const char* what, std::int64_t value) {
  return {"ssm", axis, what, {number(what, value)}};
}

std::vector<AxisRule> axis_rules(const GdnSpec& layer, const StateContext& context) {
  return {steps(layer.conv_kernel, context),
          {"conv", "channel", "(2 * key heads * key dim + value heads * value dim) / TP",
           {number("key heads", layer.key_heads), number("key dim", layer.key_head_dim),
            number("value heads", layer.value_heads), number("value dim", layer.value_head_dim),
            number("TP", context.tensor_parallel)}},
          split("ssm", "head", "value heads", layer.value_heads, context),
          whole("value", "value dim", layer.value_head_dim),
          whole("key", "key dim", layer.key_head_dim)};
}

std::vector<AxisRule> axis_rules(const Mamba2Spec& layer, const StateContext& context) {
  const bool replicated = layer.groups % context.tensor_parallel != 0;
  std::string channels = "(heads * head dim + 2 * groups * d_state) / TP";
  if (replicated) channels += fmt::format(": every rank holds a copy of a group, {} in all", layer.groups);
  return {steps(layer.conv_kernel, context),
          {"conv", "channel", std::move(channels),
           {number("heads", layer.heads), number("head dim", layer.head_dim),
            number("groups", replicated ? context.tensor_parallel : layer.groups), number("d_state", layer.state_size),
            number("TP", context.tensor_parallel)}},
          split("ssm", "head", "heads", layer.heads, context),
          whole("dim", "head dim", layer.head_dim),
          whole("state", "d_state", layer.state_size)};
}

std::vector<AxisRule> axis_rules(const Mamba1Spec& layer, const StateContext& context) {
  return {steps(layer.conv_kernel, context, false),
          split("conv", "channel", "d_inner", layer.inner_size, context),
          split("ssm", "channel", "d_inner", layer.inner_size, context),
          whole("state", "d_state", layer.state_size)};
}

std::vector<AxisRule> axis_rules(const KdaSpec& layer, const StateContext& context) {
  return {steps(layer.conv_kernel, context, layer.conv_holds_drafts),
          {"conv", "channel", "3 * heads * head dim / TP",
           {number("heads", layer.heads), number("head dim", layer.head_dim), number("TP", context.tensor_parallel)}},
          split("ssm", "head", "heads", layer.heads, context),
          whole("value", "head dim", layer.head_dim),
          whole("key", "head dim", layer.head_dim)};
}

std::vector<AxisRule> axis_rules(const ShortConvSpec& layer, const StateContext& context) {
  return {steps(layer.conv_kernel, context, false), split("conv", "channel", "channels", layer.channels, context)};
}

std::vector<AxisRule> axis_rules(const LinearAttentionSpec& layer, const StateContext& context) {
  return {split("ssm", "head", "heads", layer.heads, context), whole("value", "head dim", layer.head_dim),
          whole("key", "head dim", layer.head_dim)};
}

const StateTensor& tensor_of(const StateSpec& state, const std::string& name) {
  for (const StateTensor& tensor : state.tensors)
    if (tensor.name == name) return tensor;
  throw std::logic_error("a family derives a tensor that its state does not have");
}

Decision offset_decision(const StateSpec& state, std::size_t index, const std::string& label) {
  const StateTensor& tensor = state.tensors[index];
  Term result{"byte offset of " + tensor.name + ", " + label, tensor.byte_offset, "bytes"};
  if (index == 0) return {std::move(result), "0: the first tensor begins with the page", {}, placing_source};
  const StateTensor& before = state.tensors[index - 1];
  return {std::move(result),
          "byte offset = element * ceil(end of the tensor before / element)",
          {{"end of the tensor before", before.byte_offset + before.bytes(), "bytes"},
           {"element", element_bytes(tensor.dtype), "bytes"}},
          placing_source};
}

Decision gaps_decision(const StateSpec& state, const std::string& label) {
  std::vector<Term> inputs{{"M", state.bytes, "bytes"}};
  std::string rule = "gaps = M";
  for (const StateTensor& tensor : state.tensors) {
    inputs.push_back({tensor.name + " bytes", tensor.bytes(), "bytes"});
    rule += " - " + inputs.back().symbol;
  }
  return {{"gaps inside the state, " + label, state.padding_bytes, "bytes"}, std::move(rule), std::move(inputs),
          placing_source};
}

/// "3 x 6144 of bf16" and the bytes of every tensor.
std::vector<Term> tensor_terms(const StateSpec& state) {
  std::vector<Term> terms;
  for (const StateTensor& tensor : state.tensors) {
    std::string shape;
    for (const Axis& axis : tensor.layout.axes())
      shape += fmt::format("{}{}", shape.empty() ? "" : " x ", axis.extent);
    terms.push_back({tensor.name, fmt::format("{} of {}", shape, to_string(tensor.dtype)), ""});
    terms.push_back({tensor.name + " bytes", tensor.bytes(), "bytes"});
  }
  if (state.padding_bytes > 0) terms.push_back({"alignment inside the state", state.padding_bytes, "bytes"});
  return terms;
}

}  // namespace

void derive_state(const RecurrentSpec& layer, const StateContext& context, const SpecPlan& spec,
                  Derivation& derivation) {
  const StateSpec& state = *spec.state;
  const std::string label = spec_label(spec);
  for (const AxisRule& rule : std::visit([&](const auto& family) { return axis_rules(family, context); }, layer))
    derivation.push_back({{fmt::format("{} of {}, {}", rule.axis, rule.tensor, label),
                           tensor_of(state, rule.tensor).layout.extent(rule.axis), ""},
                          fmt::format("{} = {}", rule.axis, rule.formula),
                          rule.inputs,
                          shape_source});
  derivation.push_back({{fmt::format("M ({})", spec.kind), state.bytes, "bytes"},
                        "M = sum(product(shape) * element bytes), per rank and layer",
                        tensor_terms(state),
                        shape_source});
  for (std::size_t i = 0; i < state.tensors.size(); ++i) derivation.push_back(offset_decision(state, i, label));
  derivation.push_back(gaps_decision(state, label));
}

}  // namespace hybridkv
