// Bias memory of unified attention: vllm-gaudi PR 784.
#include "planner/workspace.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <variant>

#include "attention/bias_bytes.h"
#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const WorkspaceSpec published{.query_tokens = 8192, .shared_blocks = 10'000, .block_size_tokens = 128};

WorkspacePlan workspace_of(const WorkspaceSpec& batch) {
  Derivation derivation;
  return workspace_bytes(batch, {derivation, *default_rules()});
}

std::string refusal(const WorkspaceSpec& batch) {
  try {
    workspace_of(batch);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("golden: 8192 queries over 10,000 shared blocks of 128 take 19.53 GiB, or 128 MiB at chunk 64") {
  const WorkspacePlan plan = workspace_of(published);
  CHECK(fmt::format("{:.2f}", static_cast<double>(plan.full_bias_bytes) / static_cast<double>(gib)) == "19.53");
  CHECK(plan.chunked_bias_bytes == 128 * mib);
  CHECK(plan.block_usage_bytes == 8192 * 10'048 * 4);  // 157 chunks of 64
  CHECK(plan.batch == published);
}

TEST_CASE("golden: a plan carries the workspace and its derivation") {
  const CachePlan plan = make_plan(two_layer_model(), {.memory_bytes = gib}, {.max_model_lens = {1024}}, published);
  REQUIRE(plan.workspace.has_value());
  CHECK(plan.workspace->chunked_bias_bytes == 128 * mib);
  int found = 0;
  for (const Decision& decision : plan.derivation) {
    const auto is = [&](const char* symbol, std::int64_t bytes) {
      return decision.result == Term{symbol, bytes, "bytes"};
    };
    found += is("full bias", plan.workspace->full_bias_bytes) + is("chunked bias", plan.workspace->chunked_bias_bytes) +
             is("block usages", plan.workspace->block_usage_bytes);
  }
  CHECK(found == 3);
  CHECK(!make_plan(two_layer_model(), {.memory_bytes = gib}, {.max_model_lens = {1024}}).workspace);
}

TEST_CASE("edge: no more shared blocks than the chunk, so there are no chunks") {
  WorkspaceSpec batch = published;
  batch.shared_blocks = 64;
  CHECK(workspace_of(batch).chunked_bias_bytes == workspace_of(batch).full_bias_bytes);
  CHECK(workspace_of(batch).block_usage_bytes == 0);
  batch.shared_blocks = 65;
  CHECK(workspace_of(batch).chunked_bias_bytes < workspace_of(batch).full_bias_bytes);
  CHECK(workspace_of(batch).block_usage_bytes == 8192 * 128 * 4);
}

TEST_CASE("edge: counts out of range name their field") {
  WorkspaceSpec batch = published;
  batch.query_tokens = 0;
  CHECK(refusal(batch) == "workspace.query_tokens: must be at least 1, is 0");
  batch = published;
  batch.shared_blocks = -3;
  CHECK(refusal(batch) == "workspace.shared_blocks: must be at least 1, is -3");
  batch = published;
  batch.block_size_tokens = largest_tokens + 1;
  CHECK(refusal(batch) ==
        "workspace.block_size_tokens: 1099511627777 is too large; allowed: 1 to 1099511627776");
  batch = published;
  batch.chunk_blocks = 0;
  CHECK(refusal(batch) == "workspace.chunk_blocks: must be at least 1, is 0");
  CHECK(refusal({largest_tokens, largest_tokens, 16}).find("number too large for 64 bits") == 0);
}

TEST_CASE("law: chunks never take more than the full bias, and are a multiple of the chunk") {
  CHECK(check_times("workspace", 5'000, [] {
    const auto count = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(1, most); };
    const WorkspaceSpec batch{count(10'000), count(20'000), count(600), count(200),
                              *rc::gen::elementOf(std::vector<DType>(std::begin(all_dtypes), std::end(all_dtypes)))};
    const WorkspacePlan plan = workspace_of(batch);
    RC_ASSERT(plan.chunked_bias_bytes <= plan.full_bias_bytes);
    RC_ASSERT(plan.full_bias_bytes ==
              batch.query_tokens * batch.shared_blocks * batch.block_size_tokens * element_bytes(batch.dtype));
    RC_ASSERT(plan.block_usage_bytes % (batch.query_tokens * batch.chunk_blocks * 4) == 0);
  }));
}
