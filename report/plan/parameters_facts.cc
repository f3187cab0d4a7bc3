#include "report/plan/parameters_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "report/human.h"

namespace hybridkv {

std::string parameter_count_text(std::int64_t count) {
  const auto number = static_cast<double>(count);
  if (count < 100'000) return human_count(count);
  return count < 100'000'000 ? fmt::format("{:.1f} M", number / 1e6) : fmt::format("{:.2f} B", number / 1e9);
}

namespace {

/// "attention 1.51 B, dense 4.28 B", the parts that there are; "shared_experts" is "shared experts".
std::string parts_text(const ParameterCounts& counts) {
  std::vector<std::string> parts;
  for (const ParameterPart part : all_parameter_parts) {
    if (counts[part] == 0) continue;
    std::string name(to_string(part));
    for (char& letter : name)
      if (letter == '_') letter = ' ';
    parts.push_back(fmt::format("{} {}", name, parameter_count_text(counts[part])));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

nlohmann::ordered_json counts_json(const ParameterCounts& counts, nlohmann::ordered_json json) {
  for (const ParameterPart part : all_parameter_parts)
    if (counts[part] != 0) json[std::string(to_string(part))] = counts[part];
  return json;
}

/// "122.56 B, 10.22 B active" of a model with experts.
std::string parameters_text(const ModelParameters& parameters) {
  const std::string total = parameter_count_text(total_parameters(parameters));
  if (parameters.experts == 0) return total;
  return fmt::format("{}, {} active", total, parameter_count_text(active_parameters(parameters)));
}

}  // namespace

Facts parameters_facts(const ModelParameters& parameters) {
  Facts facts;
  facts.entries.emplace_back("parameters", parameters_text(parameters));
  if (parameters.experts != 0)
    facts.entries.emplace_back("experts", fmt::format("a token takes {} of {} in a layer", parameters.experts_per_token,
                                                      parameters.experts));
  for (const KindParameters& kind : parameters.layers)
    facts.entries.emplace_back(fmt::format("layers {}", kind.kind), parts_text(kind.counts));
  facts.entries.emplace_back("beside layers", parts_text(parameters.beside));
  if (parameters.draft.total() != 0) facts.entries.emplace_back("drafts, not in it", parts_text(parameters.draft));
  if (!parameters.not_counted.empty())
    facts.entries.emplace_back("not counted", fmt::format("{}", fmt::join(parameters.not_counted, ", ")));
  return facts;
}

nlohmann::ordered_json parameters_json(const ModelParameters& parameters) {
  nlohmann::ordered_json json{{"total", total_parameters(parameters)},
                              {"active", active_parameters(parameters)},
                              {"draft", parameters.draft.total()},
                              {"experts", parameters.experts},
                              {"experts_per_token", parameters.experts_per_token}};
  json["layers"] = nlohmann::ordered_json::array();
  for (const KindParameters& kind : parameters.layers)
    json["layers"].push_back(counts_json(kind.counts, {{"kind", kind.kind}}));
  json["beside"] = counts_json(parameters.beside, nlohmann::ordered_json::object());
  json["not_counted"] = parameters.not_counted;
  return json;
}

}  // namespace hybridkv
