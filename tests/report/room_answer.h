#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

/// What a room of the house says of a question, in words that can be compared with those of another.
namespace hybridkv::testing {

/// A number that is never above another.
struct RoomLimit {
  std::string what;  ///< "blocks held of arena 0"
  std::int64_t value = 0;
  std::int64_t most = 0;
};

/// Why a room does not answer.
struct RoomRefusal {
  std::string place;    ///< of the value at fault; empty where the room knows no places
  std::string problem;  ///< "engine.memory: 1024 bytes …", its first line
};

/// What one room says. What several rooms say has one name.
struct RoomAnswer {
  std::string room;                         ///< "plan", "plan --format csv", "simulate", …
  std::optional<RoomRefusal> refusal;       ///< set: it says nothing else
  std::map<std::string, std::string> says;  ///< "longest request" -> "2775360"
  std::vector<RoomLimit> limits;
};

inline std::string word_of(std::int64_t value) { return fmt::format("{}", value); }
inline std::string word_of(double value) { return fmt::format("{:.12g}", value); }
inline std::string word_of(bool value) { return value ? "true" : "false"; }
inline std::string word_of(const std::optional<std::int64_t>& value) { return value ? word_of(*value) : "none"; }

/// A value of JSON in the same words.
inline std::string word_of(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "none";
  if (value.is_number_integer()) return word_of(value.get<std::int64_t>());
  if (value.is_number()) return word_of(value.get<double>());
  if (value.is_boolean()) return word_of(value.get<bool>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

inline RoomRefusal refusal_of(const std::string& place, const std::string& problem) {
  return {place, problem.substr(0, problem.find('\n'))};
}

/// One room's answer: `ask` fills in what it says, or throws what it refuses.
inline RoomAnswer answer_of(const std::string& room, const std::function<void(RoomAnswer&)>& ask) {
  RoomAnswer answer{.room = room, .refusal = {}, .says = {}, .limits = {}};
  try {
    ask(answer);
  } catch (const SpecError& error) {
    answer.refusal = refusal_of({}, error.what());
  } catch (const InputError& error) {
    answer.refusal = refusal_of(error.place(), error.problem().empty() ? error.what() : error.problem());
  }
  if (answer.refusal) answer.says.clear();
  return answer;
}

}  // namespace hybridkv::testing
