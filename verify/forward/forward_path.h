#pragma once

#include <string_view>

#include "planner/engine_rules.h"

namespace hybridkv {

/// What the requests of a forward pass go through.
enum class ForwardPath {
  blocks,  ///< block tables
  exports, ///< block tables of vLLM 0.33, whose chunks export states
  tree,    ///< a radix tree
  slots,   ///< slots of a server, each with its last sequence
  snapshots,  ///< a tree of blocks with snapshots of states beside
};

/// That of a release.
ForwardPath forward_path_of(const EngineRules& rules);
/// "block tables", "block tables with exported states", "a radix tree", "the slots of a server",
/// "a tree with snapshots"
std::string_view to_string(ForwardPath path);

/// Those in which something has a place.
struct ForwardPaths {
  bool blocks = false, tree = false, slots = false, snapshots = false;
  bool exports = blocks;  ///< what any block tables have
  constexpr bool has(ForwardPath path) const {
    switch (path) {
      case ForwardPath::blocks: return blocks;
      case ForwardPath::exports: return exports;
      case ForwardPath::tree: return tree;
      case ForwardPath::snapshots: return snapshots;
      case ForwardPath::slots: break;
    }
    return slots;
  }
};

}  // namespace hybridkv
