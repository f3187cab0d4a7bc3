#include "planner/state_decisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

const StateTensor& tensor_of(const StateSpec& state, std::string_view name) {
  for (const StateTensor& tensor : state.tensors)
    if (tensor.name == name) return tensor;
  throw std::logic_error("a family derives a tensor that its state does not have");
}

/// Byte at which the tensors end that lie before one, at least the first byte of the state.
std::int64_t end_before(const StateSpec& state, const StateTensor& tensor, std::int64_t first_byte) {
  std::int64_t end = first_byte;
  for (const StateTensor& other : state.tensors)
    if (&other != &tensor && other.byte_offset <= tensor.byte_offset)
      end = std::max(end, other.byte_offset + other.bytes());
  return end;
}

Decision offset_decision(const StateSpec& state, std::size_t index, const std::string& label,
                         const StatePlacement& placement, std::string source) {
  const StateTensor& tensor = state.tensors[index];
  Term result{"byte offset of " + tensor.name + ", " + label, tensor.byte_offset, "bytes"};
  const bool is_supposed = placement != StatePlacement{};
  if (!is_supposed && index == 0)
    return {std::move(result), "0: the first tensor begins with the page", {}, std::move(source)};
  if (!is_supposed && tensor.byte_offset == 0)
    return {std::move(result), "0: it has a place of its own", {}, std::move(source)};
  const char* const unit = placement.alignment > 1 ? "alignment" : "element";
  return {std::move(result),
          fmt::format("byte offset = {0} * ceil(end of the tensor before / {0})", unit),
          {{"end of the tensor before", end_before(state, tensor, placement.first_byte), "bytes"},
           {unit, checked_lcm(element_bytes(tensor.dtype), placement.alignment), "bytes"}},
          is_supposed ? "engine.what_if" : std::move(source)};
}

Decision gaps_decision(const StateSpec& state, const std::string& label, std::string source) {
  std::vector<Term> inputs{{"M", state.bytes, "bytes"}};
  std::string rule = "gaps = M";
  for (const StateTensor& tensor : state.tensors) {
    inputs.push_back({tensor.name + " bytes", tensor.bytes(), "bytes"});
    rule += " - " + inputs.back().symbol;
  }
  return {{"gaps inside the state, " + label, state.padding_bytes, "bytes"}, std::move(rule), std::move(inputs),
          std::move(source)};
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
                  const EngineSpec& engine, Derivation& derivation) {
  const std::string shapes = cited(*engine.rules, RuleOf::state_shape),
                    places = cited(*engine.rules, RuleOf::state_places);
  const StateSpec& state = *spec.state;
  const std::string label = spec_label(spec);
  for (const AxisRule& rule : std::visit([&](const auto& family) { return axis_rules(family, context); }, layer)) {
    Decision decision{{fmt::format("{} of {}, {}", rule.axis, rule.tensor, label),
                       tensor_of(state, rule.tensor).layout.extent(rule.axis), ""},
                      fmt::format("{} = {}", rule.axis, rule.formula),
                      {},
                      shapes};
    for (const AxisRule::Input& input : rule.inputs)
      decision.inputs.push_back({std::string(input.symbol), input.value, ""});
    derivation.push_back(std::move(decision));
  }
  derivation.push_back({{fmt::format("M ({})", spec.kind), state.bytes, "bytes"},
                        "M = sum(product(shape) * element bytes), per rank and layer",
                        tensor_terms(state),
                        shapes});
  for (std::size_t i = 0; i < state.tensors.size(); ++i)
    derivation.push_back(offset_decision(state, i, label, engine.what_if.states, places));
  derivation.push_back(gaps_decision(state, label, places));
}

}  // namespace hybridkv
