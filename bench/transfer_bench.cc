// Speed of listing what moves one request between two deployments of Qwen3.5-397B-A17B.
#include <benchmark/benchmark.h>

#include "transfer/transfer_map.h"

namespace {

using namespace hybridkv;

ModelSpec qwen_397b() {
  ModelSpec model{.name = "Qwen3.5-397B-A17B", .ssm_dtype = DType::fp32};
  for (int layer = 0; layer < 60; ++layer) {
    LayerSpec spec;
    if (layer % 4 == 3)
      spec.attention = AttentionSpec{.query_heads = 32, .kv_heads = 2, .head_size_k = 256, .head_size_v = 256};
    else
      spec.recurrent = GdnSpec{.key_heads = 16, .value_heads = 64, .key_head_dim = 128, .value_head_dim = 128,
                               .conv_kernel = 4};
    model.layers.push_back(spec);
  }
  return model;
}

TransferSide side(std::int64_t ranks, std::int64_t pack, PhysicalOrder order, std::int64_t tokens) {
  EngineSpec engine{.tensor_parallel = ranks, .cache_mode = CacheMode::align, .memory_bytes = std::int64_t{40} << 30};
  engine.attention_pack_size = pack;
  engine.physical_order = order;
  return make_side(qwen_397b(), engine, {.max_model_lens = {tokens}});
}

/// Arguments: ranks of the source, ranks of the destination, layers of a pack, order, tokens. Time is of one list.
void BM_list(benchmark::State& state) {
  const auto order = static_cast<PhysicalOrder>(state.range(3));
  const std::int64_t tokens = state.range(4);
  TransferSide from = side(state.range(0), state.range(2), order, tokens);
  TransferSide to = side(state.range(1), state.range(2), order, tokens);
  TransferRequest request{.tokens = tokens};
  request.from = make_tables(from, tokens, IdOrder::scattered, 1);
  request.to = make_tables(to, tokens, IdOrder::scattered, 2);
  const TransferMap map(std::move(from), std::move(to));
  CopyList list;
  for (auto _ : state) {
    list = map.list(request);
    benchmark::DoNotOptimize(list);
  }
  state.counters["descriptors"] = static_cast<double>(list.descriptors());
  state.counters["longest_bytes"] = static_cast<double>(list.longest_run());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * list.descriptors());
}
// 32 ranks on one side would repeat what 8 show; TP 1 holds both heads, so that rows of single heads are cut.
BENCHMARK(BM_list)
    ->ArgsProduct({{2}, {8}, {1, 5, 15}, {0, 1, 2}, {32768}})
    ->ArgsProduct({{8}, {2}, {1, 15}, {0, 2}, {32768}})
    ->ArgsProduct({{1}, {2}, {15}, {0}, {2048, 3072, 32768}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
