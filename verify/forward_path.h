#pragma once

#include <string_view>

#include "planner/release.h"

namespace hybridkv {

/// What the requests of a forward pass go through.
enum class ForwardPath {
  blocks,  ///< block tables
  tree,    ///< a radix tree
  slots,   ///< slots of a server, each with its last sequence
};

/// That of a release.
ForwardPath forward_path_of(Release release);
/// "block tables", "a radix tree", "the slots of a server"
std::string_view to_string(ForwardPath path);

/// Those in which something has a place.
struct ForwardPaths {
  bool blocks = false, tree = false, slots = false;
  constexpr bool has(ForwardPath path) const {
    return path == ForwardPath::blocks ? blocks : path == ForwardPath::tree ? tree : slots;
  }
};

}  // namespace hybridkv
