#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hybridkv {

/// Where a figure stands in a record: "groups[2].block_size_tokens" is groups.block_size_tokens of position 2.
struct FigurePlace {
  std::string name;                     ///< without positions
  std::optional<std::size_t> position;  ///< the first one
};

FigurePlace figure_place(const std::string& figure);

}  // namespace hybridkv
