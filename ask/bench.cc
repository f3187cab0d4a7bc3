#include "ask/bench.h"

#include "ask/plan.h"
#include "base/add_once.h"

namespace hybridkv {

namespace {

template <class Value>
std::vector<Value> or_own(const std::vector<Value>& listed, Value own) {
  return listed.empty() ? std::vector<Value>{own} : listed;
}

/// The layer with what was asked laid over it, for one block and element type.
AttentionWorkloadSpec asked_layer(const AttentionWorkloadSpec& planned, const BenchQuestion& question,
                                  std::int64_t block, DType dtype) {
  AttentionWorkloadSpec layer = planned;
  if (question.query_heads) layer.query_heads = *question.query_heads;
  if (question.kv_heads) layer.kv_heads = *question.kv_heads;
  if (question.head_size) layer.head_size_k = layer.head_size_v = *question.head_size;
  if (question.form) layer.form = *question.form;
  layer.shared_prefix_tokens = question.shared_prefix_tokens;
  if (question.window_tokens > 0) layer.mask = {MaskKind::sliding_window, question.window_tokens};
  if (block != planned.block_size_tokens || dtype != planned.dtype || question.head_size || question.kv_heads ||
      question.form)
    layer.page_bytes = 0;
  if (block != planned.block_size_tokens) layer.kernel_block_size_tokens = block;
  layer.block_size_tokens = block;
  if (question.kernel_block) layer.kernel_block_size_tokens = *question.kernel_block;
  layer.dtype = dtype;
  return layer;
}

}  // namespace

std::vector<AttentionWorkloadSpec> planned_layers(const Scenario& scenario) {
  std::vector<AttentionWorkloadSpec> layers;
  for (const CachePlan& plan : plan_scenario(scenario, scenario.pack_sizes).plans)
    layers.push_back(workload_of(plan, {}));
  return layers;
}

std::vector<AttentionBenchSpec> bench_rows(const BenchQuestion& question) {
  std::vector<AttentionBenchSpec> rows;
  for (const AttentionWorkloadSpec& planned : question.layers)
    for (const BatchSpec& batch : question.batches)
      for (const std::int64_t block : or_own(question.block_sizes, planned.block_size_tokens))
        for (const PhysicalOrder order : or_own(question.orders, planned.order))
          for (const DType dtype : or_own(question.dtypes, planned.dtype))
            for (const AttentionBackend backend : question.backends)
              for (const std::int64_t threads : question.threads) {
                AttentionBenchSpec& row = rows.emplace_back();
                row.workload = asked_layer(planned, question, block, dtype);
                row.workload.batch = batch;
                row.workload.order = order;
                row.backend = backend;
                row.options.paged.threads = row.options.unified.threads = row.options.cascade_threads = threads;
                row.options.paged.simd = question.simd;
                row.options.paged.round_weights = question.round_weights;
                if (question.full_bias) row.options.unified.shared_bias = SharedBiasMode::full;
                row.min_seconds = question.min_seconds;
              }
  return rows;
}

BenchAnswer bench(const std::vector<AttentionBenchSpec>& rows,
                  const std::function<void(const AttentionBenchSpec&, std::size_t)>& progress) {
  ResidentBudget budget;
  BenchAnswer answer;
  std::vector<std::int64_t> threads;
  for (const AttentionBenchSpec& row : rows) {
    if (progress) progress(row, answer.rows.size());
    answer.rows.push_back({row, bench_attention(row, budget)});
    const std::int64_t count = row.options.paged.threads;
    add_once(threads, count);
  }
  answer.machine = measure_machine(threads, budget);
  return answer;
}

}  // namespace hybridkv
