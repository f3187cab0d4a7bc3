#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace hybridkv {

/// The first number in which two records differ.
struct RecordDifference {
  std::string figure;  ///< "groups[2].block_size_tokens"
  std::string name;    ///< the same without positions
  std::string ours;    ///< as JSON; "nothing" where a side has no such figure
  std::string theirs;
};

/// How many figures of a name were compared, and how many were equal.
struct FigureCount {
  std::int64_t compared = 0;
  std::int64_t equal = 0;
};

/// Compares two records figure by figure, in the order of ours; a list of numbers is one figure. Every figure is
/// counted in `counts` under its name without positions.
std::optional<RecordDifference> first_difference(const nlohmann::ordered_json& ours,
                                                 const nlohmann::ordered_json& theirs,
                                                 std::map<std::string, FigureCount>& counts);

}  // namespace hybridkv
