#pragma once

#include <string_view>

namespace hybridkv {

/// Answer of an exact check that may be too costly to finish: never a guess.
enum class Answer { no, yes, unknown };

/// "no", "yes", "unknown".
constexpr std::string_view to_string(Answer answer) {
  return answer == Answer::no ? "no" : answer == Answer::yes ? "yes" : "unknown";
}

}  // namespace hybridkv
