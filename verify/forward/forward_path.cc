#include "verify/forward/forward_path.h"

#include "base/error.h"

namespace hybridkv {

ForwardPath forward_path_of(const EngineRules& rules) {
  if (rules.tree_pools) return ForwardPath::tree;
  if (rules.one_allocation) return ForwardPath::exports;
  if (rules.strategy == Strategy::pool_groups) return ForwardPath::snapshots;
  return rules.strategy == Strategy::sequence_rows ? ForwardPath::slots : ForwardPath::blocks;
}

std::string_view to_string(ForwardPath path) {
  switch (path) {
    case ForwardPath::blocks: return "block tables";
    case ForwardPath::exports: return "block tables with exported states";
    case ForwardPath::tree: return "a radix tree";
    case ForwardPath::slots: return "the slots of a server";
    case ForwardPath::snapshots: return "a tree with snapshots";
  }
  throw std::logic_error("a path of requests");
}

}  // namespace hybridkv
