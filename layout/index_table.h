#pragma once

#include <string>

#include "layout/layout.h"

namespace hybridkv {

/// Indices a drawing may have.
inline constexpr std::int64_t max_drawn_indices = 4096;

/// Draws which element offset each index has, for documents and debugging, as CuTe prints its layouts. The last
/// axis runs to the right, the one before it downwards; every position of the axes further out is a table.
/// Pre: at most max_drawn_indices indices.
/// Example: "(block 2, token 3):(5, 1)" is drawn as
///   block\token  0  1  2
///             0  0  1  2
///             1  5  6  7
std::string index_table(const Layout& layout);

}  // namespace hybridkv
