#include "attention/bias_bytes.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

/// Allocations in the spelling of case.json: name -> shape and bytes.
nlohmann::json as_json(const std::vector<Allocation>& allocations) {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [what, shape, bytes] : allocations) result[what] = {{"shape", shape}, {"bytes", bytes}};
  return result;
}

template <class Real>
std::vector<Allocation> measured(const Batch& batch, const UnifiedOptions& options) {
  return unified<Real>(batch, options).memory.biases;
}

std::vector<Allocation> by_formula(const Batch& batch, const UnifiedOptions& options, std::int64_t element_bytes) {
  const BlockPartition blocks = partition_blocks(batch.metadata, batch.is_decode);
  return bias_allocations(bias_workload(batch.metadata, batch.is_decode, blocks, options, element_bytes));
}

TEST_CASE("golden: 8192 queries over 10,000 blocks of 128 in bf16: 19.53 GiB full, 128 MiB at chunk 64") {
  BiasWorkload work{.query_tokens = 8192, .shared_blocks = 10000, .block_size_tokens = 128,
                    .mode = SharedBiasMode::full};
  const std::vector<Allocation> full = bias_allocations(work);
  CHECK(full[0] == Allocation{"causal_bias", {8192, 8192}, 128ll << 20});
  CHECK(full[1].what == "shared_bias");
  CHECK(full[1].shape == std::vector<std::int64_t>{8192, 10000, 128});
  CHECK(std::round(static_cast<double>(full[1].bytes) / (1ll << 30) * 100) == 1953);
  CHECK(full.size() == 2);
  work.mode = SharedBiasMode::chunked;
  const std::vector<Allocation> chunked = bias_allocations(work);
  CHECK(chunked[1] == Allocation{"block_usages", {8192, 10048}, 8192ll * 10048 * 4});
  CHECK(chunked[2] == Allocation{"chunk_bias_buffer", {8192, 64, 128}, 128ll << 20});
  CHECK(chunked.size() == 3);
}

TEST_CASE("golden: bias bytes of the published cases, measured and by formula, full in 8-byte elements") {
  for (const std::string& name : case_names) {
    const Case published = load_case(name);
    for (const bool all_prompts : {true, false}) {
      CAPTURE(name);
      CAPTURE(all_prompts);
      const auto& expected = published.json[all_prompts ? "all_prompt_partition" : "decode_cached_partition"];
      const Batch batch = all_prompts ? published.batch.with_decodes(false) : published.batch;
      const UnifiedOptions options{.shared_bias = SharedBiasMode::full};
      CHECK(as_json(measured<double>(batch, options)) == expected["bias_bytes"]);
      CHECK(as_json(by_formula(batch, options, 8)) == expected["bias_bytes"]);
    }
  }
}

TEST_CASE("golden: bias bytes of the published cases, measured and by formula, chunked in 4-byte elements") {
  for (const std::string& name : case_names) {
    const Case published = load_case(name);
    const Batch batch = published.batch.with_decodes(false);
    for (const std::int64_t chunk : {4, 64}) {
      CAPTURE(name);
      CAPTURE(chunk);
      nlohmann::json expected = published.json["chunked_bias_bytes"]["chunk" + std::to_string(chunk)];
      // Not materialised here: the mask from which the published code makes the chunk bias.
      expected.erase("chunk_mask(bool,transient)");
      if (expected.contains("full_shared_bias_would_be")) {
        const BiasWorkload padded{.query_tokens = 12, .causal = false, .shared_blocks = 8, .block_size_tokens = 16,
                                  .mode = SharedBiasMode::full, .element_bytes = 4};
        CHECK(bias_allocations(padded)[0].bytes == expected["full_shared_bias_would_be"]["bytes"]);
        expected.erase("full_shared_bias_would_be");
      }
      const UnifiedOptions options{.chunk_blocks = chunk};
      CHECK(as_json(measured<float>(batch, options)) == expected);
      CHECK(as_json(by_formula(batch, options, 4)) == expected);
    }
  }
}

TEST_CASE("law: what a run allocates equals the formula, every way and part") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Batch batch = mixed_batch(seed);
    for (UnifiedOptions options : all_ways()) {
      for (int parts = 0; parts < 8; ++parts) {
        options.causal = (parts & 1) != 0;
        options.shared = (parts & 2) != 0;
        options.unique = (parts & 4) != 0;
        CHECK(measured<float>(batch, options) == by_formula(batch, options, 4));
        CHECK(measured<double>(batch, options) == by_formula(batch, options, 8));
      }
    }
  }
}

TEST_CASE("law: the bytes of a chunked bias do not depend on the number of shared blocks") {
  CHECK(rc::check("chunk buffer", [] {
    BiasWorkload work{.query_tokens = *rc::gen::inRange<std::int64_t>(1, 10000),
                      .block_size_tokens = *rc::gen::inRange<std::int64_t>(1, 3000),
                      .chunk_blocks = *rc::gen::inRange<std::int64_t>(1, 200)};
    work.shared_blocks = work.chunk_blocks + *rc::gen::inRange<std::int64_t>(1, 100000);
    const std::vector<Allocation> some = bias_allocations(work);
    work.shared_blocks += *rc::gen::inRange<std::int64_t>(0, 100000);
    const std::vector<Allocation> more = bias_allocations(work);
    RC_ASSERT(some[2] == more[2]);
    RC_ASSERT(some[1].bytes <= more[1].bytes);
    work.mode = SharedBiasMode::full;
    RC_ASSERT(more[2].bytes < bias_allocations(work)[1].bytes);
  }));
}

TEST_CASE("edge: a full bias is used up to the chunk, sizes beyond 64 bits are refused") {
  BiasWorkload work{.query_tokens = 4, .causal = false, .shared_blocks = 64, .block_size_tokens = 16};
  CHECK(bias_allocations(work)[0].what == "shared_bias");
  work.shared_blocks = 65;
  CHECK(bias_allocations(work)[0].what == "block_usages");
  work.shared_blocks = 0;
  CHECK(bias_allocations(work).empty());
  work.query_tokens = work.shared_blocks = std::int64_t{1} << 40;
  CHECK_THROWS_WITH_AS(bias_allocations(work), doctest::Contains("too large for 64 bits"), InputError);
  const std::vector<Allocation> some{{"a", {1}, 4}, {"b", {2}, 8}};
  CHECK(total_bytes(some) == 12);
  CHECK(bytes_of(some, "b") == 8);
  CHECK(bytes_of(some, "c") == 0);
}

// The sanitizers end the program where operator new would throw.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("edge: a bias beyond memory is refused with its bytes") {
  MemoryReport memory;
  CHECK_THROWS_WITH_AS(memory.allocate_bias<float>("shared_bias", {std::int64_t{1} << 50, 1 << 8}, 0.0f),
                       doctest::Contains("no memory for shared_bias (1125899906842624, 256): 1152921504606846976"),
                       ResourceError);
  CHECK(memory.biases.empty());
}
#endif

}  // namespace
}  // namespace hybridkv::test
