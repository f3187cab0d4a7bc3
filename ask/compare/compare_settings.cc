#include "ask/compare/compare_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/error.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

namespace {

constexpr const char* lengths_key = "limits.max_model_len";

/// The lists and ranges that make settings.
std::vector<SweepAxis> varied_axes(const ScenarioFile& file, const std::vector<std::string>& varied) {
  std::vector<SweepAxis> axes = sweep_axes(file);
  if (std::find(varied.begin(), varied.end(), lengths_key) == varied.end())
    std::erase_if(axes, [](const SweepAxis& axis) { return axis.path == lengths_key; });
  return axes;
}

/// "engine.attention_pack_size has 7 values", for the longest lists that there are.
std::string counted_values(const std::vector<std::vector<SweepAxis>>& axes) {
  std::string text;
  std::vector<std::string> said;
  for (const std::vector<SweepAxis>& of_file : axes)
    for (const SweepAxis& axis : of_file) {
      if (axis.values.size() < 2 || std::find(said.begin(), said.end(), axis.path) != said.end()) continue;
      said.push_back(axis.path);
      text += fmt::format("{}{} has {} values", text.empty() ? ": " : ", ", axis.path, axis.values.size());
    }
  return text;
}

void check_count(const std::vector<ScenarioFile>& files, const std::vector<std::vector<SweepAxis>>& axes,
                 const std::vector<ZippedKeys>& zips, std::size_t fewest) {
  Checked count = 0;
  for (const std::vector<SweepAxis>& of_file : axes) count += axis_steps(of_file, zips).num_points;
  if (count < static_cast<std::int64_t>(fewest)) {
    for (const ScenarioFile& file : files) read_scenario(file);  // a key that does not exist makes no setting either
    throw InputError(fmt::format("nothing to compare: that is one setting, and a comparison takes {} to {}; name "
                                 "another scenario, or vary a value of this one: --vary engine.tensor_parallel=1,2",
                                 fewest, most_settings));
  }
  if (count > static_cast<std::int64_t>(most_settings))
    throw InputError(fmt::format("these are {} settings{}; a comparison takes {} to {}: give one value of what is not "
                                 "to be compared (--set KEY=VALUE, --pack N), or take `hybridkv sweep` for all of them",
                                 std::int64_t(count), counted_values(axes), fewest, most_settings));
}

std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// A word says itself what it is of; a number does not, nor a word that two keys may have.
std::string value_name(const SweepAxis& axis, const std::string& value) {
  static const std::vector<std::string> telling{"model", "engine.release", "engine.backend_profile",
                                                "engine.strategy", "engine.physical_order"};
  if (!value.empty() && std::find(telling.begin(), telling.end(), axis.path) != telling.end()) return value;
  if (axis.path == "engine.attention_pack_size") return "N=" + value;
  return fmt::format("{}={}", last_key(axis.path), value.empty() ? "default" : value);
}

/// Settings of one file, named by what varies.
std::vector<CompareSetting> settings_of(const ScenarioFile& file, const std::vector<SweepAxis>& axes,
                                        const AxisSteps& steps) {
  std::vector<CompareSetting> settings;
  for (std::int64_t point = 0; point < steps.num_points; ++point) {
    CompareSetting setting;
    std::vector<AxisChoice> choices;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t value = point / steps.strides[i] % std::ssize(axes[i].values);
      choices.push_back({axes[i].path, static_cast<std::size_t>(value)});
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].values.size() < 2) continue;
      const std::string& value = axes[i].values[choices[i].value];
      setting.overrides.emplace_back(axes[i].path, value);
      setting.name += (setting.name.empty() ? "" : ", ") + value_name(axes[i], value);
    }
    setting.scenario = read_scenario(with_values(file, choices));
    settings.push_back(std::move(setting));
  }
  return settings;
}

/// Settings that would be called the same are numbered.
void make_unlike(std::vector<CompareSetting>& settings) {
  std::vector<std::string> taken;
  for (CompareSetting& setting : settings) {
    std::string name = setting.name;
    for (int number = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++number)
      name = fmt::format("{} ({})", setting.name, number);
    taken.push_back(setting.name = std::move(name));
  }
}

}  // namespace

std::vector<CompareSetting> compare_settings(const std::vector<ScenarioFile>& files,
                                             const std::vector<std::string>& varied, std::size_t fewest,
                                             const std::vector<ZippedKeys>& zips) {
  std::vector<std::vector<SweepAxis>> axes;
  for (const ScenarioFile& file : files) axes.push_back(varied_axes(file, varied));
  check_count(files, axes, zips, fewest);
  std::vector<CompareSetting> settings;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (CompareSetting& setting : settings_of(files[i], axes[i], axis_steps(axes[i], zips))) {
      if (files.size() > 1 || setting.name.empty())
        setting.name = setting.scenario.name + (setting.name.empty() ? "" : ": " + setting.name);
      settings.push_back(std::move(setting));
    }
  make_unlike(settings);
  return settings;
}

}  // namespace hybridkv
