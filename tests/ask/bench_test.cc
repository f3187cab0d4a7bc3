#include "ask/bench.h"

#include <doctest/doctest.h>

#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: rows are the product of the lists, the last of them fastest") {
  BenchQuestion question{.layers = {{.pack_size = 1}, {.pack_size = 2}},
                         .batches = {parse_batch_spec("2q1s64"), parse_batch_spec("q32")},
                         .block_sizes = {16, 32},
                         .orders = {PhysicalOrder::nhd, PhysicalOrder::hnd},
                         .dtypes = {DType::fp32, DType::bf16},
                         .backends = {AttentionBackend::paged},
                         .threads = {1, 2}};
  const std::vector<AttentionBenchSpec> rows = bench_rows(question);
  REQUIRE(rows.size() == 64);
  CHECK(rows[0].options.paged.threads == 1);
  CHECK(rows[1].options.paged.threads == 2);
  CHECK(rows[1].workload.dtype == DType::fp32);
  CHECK(rows[2].workload.dtype == DType::bf16);
  CHECK(rows[4].workload.order == PhysicalOrder::hnd);
  CHECK(rows[8].workload.block_size_tokens == 32);
  CHECK(rows[8].workload.kernel_block_size_tokens == 32);
  CHECK(rows[16].workload.batch == question.batches[1]);
  CHECK(rows[32].workload.pack_size == 2);
  // The instructions are those of the backend unless some are asked for.
  CHECK_FALSE(rows[0].options.paged.simd.has_value());
  question.simd = SimdPath::plain;
  CHECK(bench_rows(question)[0].options.paged.simd == SimdPath::plain);
}

TEST_CASE("law: a planned page is kept until something is asked that it does not fit") {
  BenchQuestion question{.layers = planned_layers(small_scenario("  attention_pack_size: [2]\n")),
                         .batches = {parse_batch_spec("q32")},
                         .backends = {AttentionBackend::unified}};
  REQUIRE(question.layers.size() == 1);
  const AttentionWorkloadSpec planned = question.layers.front();
  CHECK(planned.pack_size == 2);
  CHECK(planned.page_bytes > 0);
  const auto page = [](const BenchQuestion& asked) { return bench_rows(asked).at(0).workload.page_bytes; };
  CHECK(page(question) == planned.page_bytes);
  BenchQuestion other = question;
  other.query_heads = 2 * planned.query_heads;
  CHECK(page(other) == planned.page_bytes);
  other.kv_heads = 1;
  CHECK(page(other) == 0);
  other = question;
  other.head_size = 2 * planned.head_size_k;
  CHECK(page(other) == 0);
  // One size is asked for, and keys and values have it both.
  CHECK(bench_rows(other).at(0).workload.head_size_k == 2 * planned.head_size_k);
  CHECK(bench_rows(other).at(0).workload.head_size_v == 2 * planned.head_size_k);
  other = question;
  other.dtypes = {DType::fp32};
  CHECK(page(other) == 0);
  other = question;
  other.block_sizes = {16};
  CHECK(page(other) == 0);
  CHECK(bench_rows(other).at(0).workload.kernel_block_size_tokens == 16);
}

TEST_CASE("golden: a row is checked before it is timed") {
  const BenchQuestion question{.layers = {{.query_heads = 2, .kv_heads = 1, .head_size_k = 16, .head_size_v = 16,
                                           .block_size_tokens = 16, .kernel_block_size_tokens = 16}},
                               .batches = {parse_batch_spec("2q1s64")},
                               .backends = {AttentionBackend::unified, AttentionBackend::paged},
                               .min_seconds = 0};
  std::size_t started = 0;
  const BenchAnswer answer =
      bench(bench_rows(question), [&](const AttentionBenchSpec&, std::size_t row) { started += row == started; });
  CHECK(started == 2);
  REQUIRE(answer.rows.size() == 2);
  for (const BenchAnswer::Row& row : answer.rows) CHECK((row.result.is_correct() && row.result.runs > 0));
  // Both rows run on one thread, for which the machine is measured once.
  CHECK(answer.machine.reads.back().level == MemoryLevel::memory);
  for (const MachineRates::Read& read : answer.machine.reads) CHECK(read.threads == 1);
}
