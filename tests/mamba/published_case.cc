#include "tests/mamba/published_case.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/npy.h"

namespace hybridkv {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// The sizes of a spec; each key must be one that the family has.
template <class Spec>
RecurrentSpec spec_of(const json& sizes) {
  Spec spec;
  const auto& fields = family_of(spec).fields;
  for (const auto& [key, value] : sizes.items()) {
    const std::string_view name = key;
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
    const auto* member = field == fields.end() ? nullptr : std::get_if<std::int64_t Spec::*>(&field->member);
    if (!member) throw std::runtime_error("case.json: spec." + key + " is no size of this family");
    spec.**member = value.template get<std::int64_t>();
  }
  return spec;
}

RecurrentSpec read_spec(const std::string& name, const json& sizes) {
  std::optional<RecurrentSpec> spec;
  for_each_family([&]<class Spec>(const Spec& family) {
    if (family_of(family).name == name) spec = spec_of<Spec>(sizes);
  });
  if (!spec) throw std::runtime_error("case.json: unknown family " + name);
  return *spec;
}

template <class T>
std::vector<T> read_values(const fs::path& file) {
  const NpyArray array = read_npy(file);
  const std::span<const T> values = array.values<T>();
  return {values.begin(), values.end()};
}

std::vector<double> widened(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// The arrays of a row, flattened, one after the other for every token.
std::vector<float> read_rows(const fs::path& inputs, const json& names, std::int64_t tokens) {
  std::vector<std::vector<float>> parts;
  for (const json& name : names) parts.push_back(read_values<float>(inputs / (name.get<std::string>() + ".npy")));
  std::vector<float> rows;
  for (std::int64_t token = 0; token < tokens; ++token)
    for (const std::vector<float>& part : parts) {
      const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(part.size()) / tokens;
      rows.insert(rows.end(), part.begin() + token * width, part.begin() + (token + 1) * width);
    }
  return rows;
}

RecurrentWeights read_weights(const fs::path& inputs, const json& names) {
  RecurrentWeights weights;
  const std::pair<const char*, std::vector<float> RecurrentWeights::*> lists[] = {
      {"conv", &RecurrentWeights::conv},
      {"conv_bias", &RecurrentWeights::conv_bias},
      {"decay_log", &RecurrentWeights::decay_log},
      {"step_bias", &RecurrentWeights::step_bias},
      {"skip", &RecurrentWeights::skip},
      {"gates", &RecurrentWeights::gates}};
  std::size_t used = 0;
  for (const auto& [name, list] : lists)
    if (names.contains(name)) {
      weights.*list = read_values<float>(inputs / (names.at(name).get<std::string>() + ".npy"));
      ++used;
    }
  if (used != names.size()) throw std::runtime_error("case.json: weights names a list that RecurrentWeights lacks");
  return weights;
}

/// Part `index` of `count` equal parts.
std::vector<double> part_of(const std::vector<double>& all, std::size_t index, std::size_t count) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(all.size() / count);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(index) * size;
  return {first, first + size};
}

void read_splits(const fs::path& folder, const json& split, const RecurrentStateRef& like, PublishedCase& result) {
  const auto positions = split.at("positions").get<std::vector<std::int64_t>>();
  const auto stacked = [&](const char* name, bool exists) {
    return exists ? read_values<double>(folder / name) : std::vector<double>{};
  };
  const std::vector<double> conv = stacked("conv.npy", !like.conv.empty());
  const std::vector<double> ssm = stacked("ssm.npy", !like.ssm.empty());
  for (std::size_t i = 0; i < positions.size(); ++i)
    result.splits.push_back({positions[i], {part_of(conv, i, positions.size()), part_of(ssm, i, positions.size())}});
  const auto second = std::find(positions.begin(), positions.end(), split.at("second_part_from").get<std::int64_t>());
  if (second == positions.end()) throw std::runtime_error("case.json: second_part_from is none of the positions");
  result.second_from = static_cast<std::size_t>(second - positions.begin());
  result.second_outputs = read_values<double>(folder / "outputs_second.npy");
}

/// Whether a step or gate with its bias passes 20, whatever its place: the sum of the largest of both.
bool saturates(const fs::path& inputs, const json& rows, const RecurrentWeights& weights) {
  if (weights.step_bias.empty()) return false;
  const float bias = *std::max_element(weights.step_bias.begin(), weights.step_bias.end());
  for (const json& name : rows) {
    const auto gate = name.get<std::string>();
    if (gate != "a" && gate != "g" && gate != "dt") continue;
    const std::vector<float> values = read_values<float>(inputs / (gate + ".npy"));
    if (*std::max_element(values.begin(), values.end()) + bias > 20) return true;
  }
  return false;
}

PublishedCase read_published_case(const fs::path& folder) {
  std::ifstream stream(folder / "case.json");
  const json content = json::parse(stream);
  const fs::path inputs = folder / "inputs";
  PublishedCase result;
  result.name = content.at("case").get<std::string>();
  result.tokens = content.at("tokens").get<std::int64_t>();
  result.layer = {read_spec(content.at("family").get<std::string>(), content.at("spec")),
                  read_weights(inputs, content.at("weights"))};
  result.inputs = read_rows(inputs, content.at("row"), result.tokens);
  result.outputs = read_values<double>(folder / "outputs.npy");
  const RecurrentStateRef zero = initial_state(result.layer.spec);
  if (!zero.conv.empty()) {
    result.start.conv = widened(read_values<float>(inputs / "initial_conv.npy"));
    result.end.conv = read_values<double>(folder / "final_state" / "conv.npy");
  }
  if (!zero.ssm.empty()) {
    result.start.ssm = widened(read_values<float>(inputs / "initial_ssm.npy"));
    result.end.ssm = read_values<double>(folder / "final_state" / "ssm.npy");
  }
  if (result.start.conv.size() != zero.conv.size() || result.start.ssm.size() != zero.ssm.size())
    throw std::runtime_error(result.name + ": a state has another size than the family's");
  if (content.contains("split")) read_splits(folder / "split", content.at("split"), zero, result);
  result.softplus_saturates = saturates(inputs, content.at("row"), result.layer.weights);
  return result;
}

}  // namespace

std::vector<PublishedCase> read_published_cases(const fs::path& folder) {
  std::vector<PublishedCase> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "case.json")) cases.push_back(read_published_case(entry.path()));
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

}  // namespace hybridkv
