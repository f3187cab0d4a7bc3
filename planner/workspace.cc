#include "planner/workspace.h"

#include "attention/bias_bytes.h"
#include "planner/validate.h"

namespace hybridkv {

namespace {

/// What the shared blocks alone need; the causal and the unique bias are the same in every mode.
std::vector<Allocation> shared_allocations(const WorkspaceSpec& batch, SharedBiasMode mode) {
  return bias_allocations({.query_tokens = batch.query_tokens,
                           .causal = false,
                           .shared_blocks = batch.shared_blocks,
                           .unique_rows = 0,
                           .block_size_tokens = batch.block_size_tokens,
                           .mode = mode,
                           .chunk_blocks = batch.chunk_blocks,
                           .element_bytes = element_bytes(batch.dtype)});
}

}  // namespace

WorkspacePlan workspace_bytes(const WorkspaceSpec& batch, const DerivationLog& log) {
  validate(batch);
  const auto inputs = [&](bool in_chunks) {
    std::vector<Term> terms{{"query tokens", batch.query_tokens, "tokens"},
                            {"shared blocks", batch.shared_blocks, "blocks"},
                            {"block", batch.block_size_tokens, "tokens"},
                            {"element", element_bytes(batch.dtype), "bytes"}};
    if (in_chunks) terms.push_back({"chunk", batch.chunk_blocks, "blocks"});
    return terms;
  };
  WorkspacePlan plan;
  plan.batch = batch;
  plan.full_bias_bytes = total_bytes(shared_allocations(batch, SharedBiasMode::full));
  log.add([&] {
    return Decision{{"full bias", plan.full_bias_bytes, "bytes"},
                    "full bias = query tokens * shared blocks * block * element",
                    inputs(false),
                    log.cite(RuleOf::shared_bias)};
  });
  for (const Allocation& allocation : shared_allocations(batch, SharedBiasMode::chunked))
    (allocation.what == "block_usages" ? plan.block_usage_bytes : plan.chunked_bias_bytes) += allocation.bytes;
  const bool chunks = is_chunked(SharedBiasMode::chunked, batch.shared_blocks, batch.chunk_blocks);
  log.add([&] {
    return Decision{{"chunked bias", plan.chunked_bias_bytes, "bytes"},
                    chunks ? "chunked bias = query tokens * chunk * block * element"
                           : "chunked bias = full bias: there are no more shared blocks than the chunk",
                    inputs(true),
                    log.cite(RuleOf::shared_bias)};
  });
  log.add([&] {
    return Decision{{"block usages", plan.block_usage_bytes, "bytes"},
                    chunks ? "block usages = query tokens * chunk * ceil(shared blocks / chunk) * 4"
                           : "0: without chunks nobody needs them",
                    chunks ? inputs(true) : std::vector<Term>{},
                    log.cite(RuleOf::shared_bias)};
  });
  return plan;
}

}  // namespace hybridkv
