#include "planner/workspace.h"

#include "layout/checked.h"

namespace hybridkv {

WorkspacePlan workspace_bytes(const WorkspaceSpec& batch) {
  const auto require = [](std::int64_t value, const char* path) {
    if (value < 1) throw SpecError(path, "must be at least 1, is " + std::to_string(value));
  };
  require(batch.query_tokens, "workspace.query_tokens");
  require(batch.shared_blocks, "workspace.shared_blocks");
  require(batch.block_size_tokens, "workspace.block_size_tokens");
  require(batch.chunk_blocks, "workspace.chunk_blocks");
  WorkspacePlan plan;
  plan.batch = batch;
  return plan;
}

}  // namespace hybridkv
