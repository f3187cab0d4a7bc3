#pragma once

#include "planner/cache_plan.h"

namespace hybridkv {

/// Bytes of the biases of unified attention for a stated batch, full and chunked.
/// Throws SpecError("workspace.…") for counts below 1. Source: vllm-gaudi PR 784.
WorkspacePlan workspace_bytes(const WorkspaceSpec& batch);

}  // namespace hybridkv
