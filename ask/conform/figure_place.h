#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hybridkv {

/// Where a figure stands in a record: "groups[2].block_size_tokens" is groups.block_size_tokens of position 2.
struct FigurePlace {
  std::string name;                     ///< without positions
  std::optional<std::size_t> position;  ///< the first one
};

/// Which decision a figure follows from, by what its result is called.
struct DerivedFigure {
  std::string_view figure;  ///< without positions
  std::string_view symbol;
};

FigurePlace figure_place(const std::string& figure);

}  // namespace hybridkv
