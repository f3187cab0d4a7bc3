#pragma once

#include "planner/cache_plan.h"
#include "planner/derivation.h"

namespace hybridkv {

/// Bytes of the biases of unified attention for the shared blocks of a stated batch, full and chunked; the formula is
/// bias_allocations of attention/bias_bytes.h. Throws SpecError("workspace.…") for counts out of range, InputError
/// where a size overflows 64 bits. Source: vllm-gaudi PR 784.
/// Example: 8192 query tokens, 10,000 shared blocks of 128, bf16: 19.53 GiB full, 128 MiB at chunk 64.
WorkspacePlan workspace_bytes(const WorkspaceSpec& batch, const DerivationLog& log);

}  // namespace hybridkv
