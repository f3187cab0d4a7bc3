#include "clock/forward_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// More of one of these is no step that an engine takes.
constexpr std::int64_t most_tokens = 100'000'000;
constexpr std::int64_t most_requests = 10'000;
constexpr std::size_t most_cases = 10'000;

/// One measured case, for messages.
class CaseReading {
 public:
  CaseReading(const std::string& name, std::size_t number) : name_(name), number_(number) {}

  [[noreturn]] void refuse(const std::string& key, const std::string& problem) const {
    throw InputError(fmt::format("{}: case {}: {}: {}; the engine's benchmark of forward passes writes it", name_,
                                 number_, key, problem));
  }
  std::int64_t whole(const Json& part, const char* key, std::int64_t otherwise, std::int64_t most) const {
    const auto found = part.find(key);
    if (found == part.end()) return otherwise;
    if (!found->is_number_integer()) refuse(key, "is no whole number");
    const std::int64_t value = found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t{INT64_MAX}
                                   ? INT64_MAX
                                   : found->get<std::int64_t>();
    if (value < 0 || value > most) refuse(key, fmt::format("{} is not from 0 to {}", value, most));
    return value;
  }
  ShapePart part_of(const Json& json) const {
    if (!json.is_object()) refuse("requests", "holds something that is no object");
    ShapePart part{.query = whole(json, "query_len", 0, most_tokens),
                   .drafts = whole(json, "num_draft_tokens", 0, most_tokens),
                   .count = whole(json, "count", 1, most_requests)};
    const std::int64_t all = whole(json, "kv_len", 0, most_tokens);
    if (part.query < 1 || all < part.query) refuse("kv_len", "is at least query_len, which is at least 1");
    if (part.drafts >= part.query) refuse("num_draft_tokens", "is below query_len");
    part.context = all - part.query;
    const auto chunked = json.find("chunked");
    // A query of one token is a decode, however it came to what lies before it.
    part.found = part.context > 0 && part.query > 1 + part.drafts &&
                 !(chunked != json.end() && chunked->is_boolean() && chunked->get<bool>());
    return part;
  }

 private:
  std::string name_;
  std::size_t number_;
};

double spread_of(const Json& ranks) {
  if (!ranks.is_array() || ranks.empty() || !ranks[0].is_object()) return 0;
  const auto latency = ranks[0].find("latency_us");
  if (latency == ranks[0].end() || !latency->is_object()) return 0;
  const auto spread = latency->find("sample_spread_pct");
  return spread != latency->end() && spread->is_number() ? spread->get<double>() : 0;
}

}  // namespace

std::string shapes_text(const std::vector<StepShape>& shapes) {
  Json cases = Json::array();
  for (const StepShape& shape : shapes) {
    Json requests = Json::array();
    for (const ShapePart& part : shape.parts)
      requests.push_back({{"query_len", part.query},
                          {"kv_len", part.context + part.query},
                          {"num_draft_tokens", part.drafts},
                          {"chunked", part.context > 0 && !part.found},
                          {"count", part.count}});
    cases.push_back({{"name", shape.name}, {"requests", requests}});
  }
  return Json{{"cases", cases}}.dump(2) + "\n";
}

std::vector<MeasuredShape> parse_forward(std::string_view text, const std::string& name) {
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_array() || file.empty())
    throw InputError(fmt::format("{}: is no result of a benchmark of forward passes, which is a list of JSON with a "
                                 "case or more", name));
  if (file.size() > most_cases) throw InputError(fmt::format("{}: has more than {} cases", name, most_cases));
  std::vector<MeasuredShape> measured;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const Json& one = file[i];
    const CaseReading reading(name, i + 1);
    if (!one.is_object()) reading.refuse("case", "is no object");
    MeasuredShape& shape = measured.emplace_back();
    const auto requests = one.find("requests");
    if (requests == one.end() || !requests->is_array() || requests->empty()) reading.refuse("requests", "is no list");
    std::int64_t sum = 0;
    for (const Json& request : *requests) {
      shape.shape.parts.push_back(reading.part_of(request));
      sum += shape.shape.parts.back().count;
      if (sum > most_requests) reading.refuse("count", fmt::format("more than {} requests in a step", most_requests));
    }
    shape.shape.name = shape_name(shape.shape.parts);
    const auto median = one.find("median_us");
    if (median == one.end() || !median->is_number()) reading.refuse("median_us", "is no number");
    shape.seconds = median->get<double>() * 1e-6;
    if (!(shape.seconds > 0 && std::isfinite(shape.seconds))) reading.refuse("median_us", "is not above 0");
    if (const auto ranks = one.find("ranks"); ranks != one.end()) shape.spread_percent = spread_of(*ranks);
  }
  return measured;
}

}  // namespace hybridkv
