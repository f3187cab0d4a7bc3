#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transfer/page_runs.h"
#include "transfer/side.h"

namespace hybridkv {

/// One block, or one checkpoint, of a group as it goes to a host tier: groups that are alike stand once.
struct OffloadEntry {
  std::string kind;          ///< SpecPlan::kind
  std::int64_t tokens = 0;   ///< of a block; 0: a checkpoint
  std::int64_t groups = 0;   ///< that are alike
  std::int64_t layers = 0;   ///< of one of them
  PageRuns runs;             ///< of the first
};

/// Those of one rank of the first stage, in the order of the groups.
std::vector<OffloadEntry> offload_entries(const TransferSide& side);

}  // namespace hybridkv
