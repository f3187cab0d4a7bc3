#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "measure/attention_bench.h"
#include "measure/machine_rates.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// Which backends to time on which layouts: the product of the lists.
struct BenchQuestion {
  std::vector<AttentionWorkloadSpec> layers{AttentionWorkloadSpec{}};  ///< each in place of the first, at least one
  std::vector<BatchSpec> batches;              ///< at least one
  std::vector<std::int64_t> block_sizes;       ///< tokens; empty: the layer's
  std::vector<PhysicalOrder> orders;           ///< empty: the layer's
  std::vector<DType> dtypes;                   ///< of the cache; empty: the layer's
  std::vector<AttentionBackend> backends;      ///< at least one
  std::vector<std::int64_t> threads{1};        ///< >= 1 each, above 1 for the backend paged alone
  // Laid over every layer; unset: the layer's.
  std::optional<BackendForm> form;
  std::optional<std::int64_t> kernel_block;    ///< tokens
  std::optional<std::int64_t> query_heads;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> head_size;       ///< channels of K and of V
  std::int64_t shared_prefix_tokens = 0;
  std::int64_t window_tokens = 0;              ///< 0: none
  std::optional<SimdPath> simd;                ///< default: the fastest
  bool round_weights = true;                   ///< of paged: PagedOptions
  bool full_bias = false;                      ///< of unified, in place of chunks
  double min_seconds = 0.5;                    ///< that a row runs at least
};

/// What was asked and what was measured.
struct BenchAnswer {
  struct Row {
    AttentionBenchSpec spec;
    AttentionBenchResult result;
  };
  std::vector<Row> rows;
  MachineRates machine;  ///< for the numbers of threads of the rows
};

/// The layer of primary attention of every pack of a scenario. Throws InputError with the place of what cannot be
/// planned, SpecError for attention that cannot be timed.
std::vector<AttentionWorkloadSpec> planned_layers(const Scenario& scenario);

/// A row for each combination, layers outermost, then in the order of the lists: batches, blocks, orders, dtypes,
/// backends, threads. Where the page of a planned layer no longer fits what was asked, it is that of the layer alone.
std::vector<AttentionBenchSpec> bench_rows(const BenchQuestion& question);

/// Checks and times the rows in turn; `progress` gets each before it starts. Then measures what the machine can do.
/// Throws as bench_attention.
BenchAnswer bench(const std::vector<AttentionBenchSpec>& rows,
                  const std::function<void(const AttentionBenchSpec&, std::size_t row)>& progress = {});

}  // namespace hybridkv
