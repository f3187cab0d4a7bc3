#include "clock/clock_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// Numbers in files have three digits behind the point: more are not known.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

Json json_of(const ClockError& error) {
  return {{"runs", error.runs},
          {"first_token_median_percent", rounded(error.first_token_median)},
          {"first_token_p90_percent", rounded(error.first_token_p90)},
          {"output_token_median_percent", rounded(error.output_token_median)},
          {"output_token_p90_percent", rounded(error.output_token_p90)}};
}

/// The file as it is read, for messages.
class Reading {
 public:
  explicit Reading(const std::string& name) : name_(name) {}

  [[noreturn]] void refuse(const std::string& key, const std::string& problem) const {
    throw InputError(fmt::format("{}: {}: {}", name_, key, problem));
  }
  const Json& member(const Json& object, const std::string& key) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse(key, "is missing; hybridkv calibrate writes such files");
    return *found;
  }
  double number(const Json& object, const std::string& key) const {
    const Json& value = member(object, key);
    if (!value.is_number()) refuse(key, "must be a number");
    return value.get<double>();
  }
  std::string text(const Json& object, const std::string& key) const {
    const Json& value = member(object, key);
    if (!value.is_string()) refuse(key, "must be a text");
    return value.get<std::string>();
  }
  ClockError error(const Json& object, const std::string& key) const {
    const Json& value = member(object, key);
    if (!value.is_object()) refuse(key, "must be an object");
    return {.runs = static_cast<std::size_t>(number(value, "runs")),
            .first_token_median = number(value, "first_token_median_percent"),
            .first_token_p90 = number(value, "first_token_p90_percent"),
            .output_token_median = number(value, "output_token_median_percent"),
            .output_token_p90 = number(value, "output_token_p90_percent")};
  }

 private:
  std::string name_;
};

}  // namespace

std::string clock_text(const ClockFile& clock) {
  Json file{{"hybridkv_clock", 1}, {"engine", clock.engine}, {"basis", clock.basis}};
  for (const CoefficientRange& range : coefficient_ranges)
    file["coefficients"][std::string(range.name)] = rounded(clock.coefficients[range.which]);
  file["error_on_its_runs"] = json_of(clock.fitted);
  if (clock.apart) file["error_on_others"] = json_of(*clock.apart);
  return file.dump(2) + "\n";
}

ClockFile parse_clock(std::string_view text, const std::string& name) {
  const Reading reading(name);
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_object() || !file.contains("hybridkv_clock"))
    throw InputError(fmt::format("{}: is no clock; hybridkv calibrate writes such files", name));
  if (reading.number(file, "hybridkv_clock") != 1)
    reading.refuse("hybridkv_clock", "is of another version than 1; calibrate again");
  ClockFile clock{.engine = reading.text(file, "engine"), .basis = reading.text(file, "basis")};
  const Json& coefficients = reading.member(file, "coefficients");
  if (!coefficients.is_object()) reading.refuse("coefficients", "must be an object");
  std::vector<std::string> names;
  for (const CoefficientRange& range : coefficient_ranges) names.emplace_back(range.name);
  for (const auto& [key, value] : coefficients.items())
    if (std::find(names.begin(), names.end(), key) == names.end())
      reading.refuse("coefficients." + printable(key), "is none" + suggestion(key, names, "there are:"));
  for (const CoefficientRange& range : coefficient_ranges) {
    const double value = reading.number(coefficients, std::string(range.name));
    // What a deployment was calibrated to may lie beyond what is fitted of an engine, but not beyond sense.
    if (!(value > 0 && value <= 100 * range.most) || (range.most <= 1 && value > 1))
      reading.refuse("coefficients." + std::string(range.name), fmt::format("{:g} cannot be", value));
    clock.coefficients[range.which] = value;
  }
  clock.fitted = reading.error(file, "error_on_its_runs");
  if (file.contains("error_on_others")) clock.apart = reading.error(file, "error_on_others");
  return clock;
}

}  // namespace hybridkv
