#pragma once

#include <cstdint>
#include <vector>

#include "search/checkpoint_positions.h"
#include "search/reuse_paths.h"

namespace hybridkv {

/// How deep the prompts of a trace go with earlier ones. Units are those of the paths.
struct SharedDepths {
  std::vector<SharedDepth> depths;  ///< ascending; a request with an earlier prompt's beginning weighs 1
  std::int64_t requests = 0;        ///< of those
  std::int64_t units = 0;           ///< shared, summed over them
  /// (units back, 0 .. most_back) found where every prompt keeps one state, so far before its last boundary, and the
  /// next one to share most with it goes on from there.
  std::vector<std::int64_t> found_back;
};
SharedDepths shared_depths(const ReusePaths& paths, std::int64_t most_back);

}  // namespace hybridkv
