#include "engines/sglang/conformance.h"

#include <array>

#include "base/random.h"
#include "planner/indexers.h"
#include "planner/tree_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t usual_pool_memory = std::int64_t{40} << 30;
/// Shorter than most prompts, so that they are computed in several chunks.
constexpr std::int64_t usual_chunk = 2048;
/// Pools that a few prompts fill, so that the tree evicts.
constexpr std::int64_t few_tokens = 12'000, few_states = 10;

/// One of each family that it runs, of each way to share heads, and of each class of configurations.
constexpr auto models_of_sglang = std::to_array<std::string_view>(
    {"Qwen3.5-4B", "Qwen3.5-397B-A17B", "Qwen3-Next-80B-A3B", "Nemotron-3-Nano-30B-A3B", "granite-4.0-h-small",
     "Falcon-H1-3B", "Kimi-Linear-48B-A3B", "LFM2.5-1.2B"});

constexpr std::array tree_strategies{TreeStrategy::extra_buffer, TreeStrategy::no_buffer,
                                     TreeStrategy::extra_buffer_lazy};

/// The strategy is always said: which one the engine takes by itself depends on kernels and models.
EngineSpec usual_pools(const ModelSpec& model) {
  EngineSpec engine;
  engine.strategy = Strategy::dual_pool;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = usual_pool_memory;
  engine.max_num_batched_tokens = usual_chunk;
  engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::extra_buffer);
  if (has_indexers(model)) engine.own.set(tree_key::page_size, 64);
  return engine;
}

/// Indexers need pages of several tokens, which no_buffer has not, and 8 bits beside them are not planned.
bool is_beside_indexers(const EngineSpec& engine) {
  return engine.own[tree_key::mamba_radix_cache_strategy] != TreeStrategy::no_buffer && !engine.kv_dtype;
}

std::vector<EngineSpec> settings_of_pools(const ModelSpec& model) {
  std::vector<EngineSpec> settings;
  const auto add = [&](auto change) {
    settings.push_back(usual_pools(model));
    change(settings.back());
  };
  for (const std::int64_t ranks : {1, 2, 4}) add([&](EngineSpec& engine) { engine.tensor_parallel = ranks; });
  for (const TreeStrategy strategy : tree_strategies)
    add([&](EngineSpec& engine) { engine.own.set(tree_key::mamba_radix_cache_strategy, strategy); });
  for (const double ratio : {0.1, 0.5, 5.0}) add([&](EngineSpec& engine) { engine.state_memory_ratio = ratio; });
  add([](EngineSpec& engine) { engine.own.set(tree_key::page_size, 64); });
  add([](EngineSpec& engine) { engine.own.set(tree_key::overlap_schedule, false); });
  add([](EngineSpec& engine) { engine.own.set(tree_key::skip_decode_lock, true); });
  for (const TreeStrategy strategy : tree_strategies)
    add([&](EngineSpec& engine) {
      engine.own.set(tree_key::mamba_radix_cache_strategy, strategy);
      engine.own.set(tree_key::max_total_tokens, few_tokens);
      engine.own.set(tree_key::max_mamba_cache_size, few_states);
    });
  // As few states as let one request run, where it matters which of them are locked.
  for (const TreeStrategy strategy : tree_strategies)
    add([&](EngineSpec& engine) {
      engine.own.set(tree_key::mamba_radix_cache_strategy, strategy);
      engine.own.set(tree_key::skip_decode_lock, true);
      engine.own.set(tree_key::max_mamba_cache_size, strategy == TreeStrategy::extra_buffer ? 4 : 3);
    });
  add([](EngineSpec& engine) { engine.own.set(tree_key::max_mamba_cache_size, 300); });
  add([](EngineSpec& engine) { engine.own.set(tree_key::max_total_tokens, 100'000); });
  add([](EngineSpec& engine) { engine.own.set(tree_key::mamba_track_interval, 512); });
  add([](EngineSpec& engine) { engine.cache_mode = CacheMode::none; });
  add([](EngineSpec& engine) { engine.max_running_requests = 48; });
  add([](EngineSpec& engine) { engine.kv_dtype = DType::fp8_e4m3; });
  add([](EngineSpec& engine) { engine.ssm_dtype = DType::bf16; });
  add([](EngineSpec& engine) { engine.memory_bytes = std::int64_t{64} << 20; });
  add([](EngineSpec& engine) { engine.speculative_tokens = 4, engine.max_running_requests = 48; });
  add([](EngineSpec& engine) {
    engine.speculative_tokens = 4, engine.max_running_requests = 48, engine.mtp_layers = 1;
  });
  if (has_indexers(model))
    std::erase_if(settings, [](const EngineSpec& engine) { return !is_beside_indexers(engine); });
  return settings;
}

EngineSpec random_pools(const ModelSpec& model, std::uint64_t key) {
  EngineSpec engine = usual_pools(model);
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t sides) { return mix(key, ++draws) % sides; };
  const auto draw_number = [&](std::uint64_t sides) { return static_cast<std::int64_t>(1 + draw(sides)); };
  engine.tensor_parallel = std::int64_t{1} << draw(3);
  const TreeStrategy strategy = tree_strategies[draw(tree_strategies.size())];
  engine.own.set(tree_key::mamba_radix_cache_strategy, strategy);
  if (strategy != TreeStrategy::no_buffer && draw(3) == 0) engine.own.set(tree_key::page_size, 64);
  if (strategy != TreeStrategy::extra_buffer_lazy && draw(3) == 0) engine.own.set(tree_key::overlap_schedule, false);
  if (draw(4) == 0) engine.own.set(tree_key::skip_decode_lock, true);
  if (draw(3) == 0) engine.own.set(tree_key::max_mamba_cache_size, draw_number(draw(3) == 0 ? 2000 : 8));
  if (draw(3) == 0) engine.own.set(tree_key::max_total_tokens, draw_number(draw(3) == 0 ? 2'000'000 : 24'000));
  engine.max_num_batched_tokens = 64 * draw_number(128);  // whole pages
  if (draw(4) == 0) engine.cache_mode = CacheMode::none;
  if (draw(3) == 0) engine.kv_dtype = DType::fp8_e4m3;
  if (draw(3) == 0) engine.ssm_dtype = draw(2) == 0 ? DType::bf16 : DType::fp32;
  engine.state_memory_ratio = 0.01 * static_cast<double>(draw_number(400));
  if (draw(2) == 0) engine.max_running_requests = draw_number(256);
  if (engine.max_running_requests && draw(2) == 0) {
    engine.speculative_tokens = draw_number(8);
    engine.mtp_layers = static_cast<std::int64_t>(draw(2));
  }
  engine.memory_bytes = static_cast<std::int64_t>((std::uint64_t{1} << 28) + draw(std::uint64_t{80} << 30));
  if (has_indexers(model) && !is_beside_indexers(engine)) {
    engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::extra_buffer);
    engine.kv_dtype.reset();
  }
  return engine;
}

}  // namespace

const Conformance conformance_of_sglang{.driver = "sglang/conform/driver.py",
                                        .version = "0.5.23",
                                        .grid = settings_of_pools,
                                        .models = models_of_sglang,
                                        .tells_indexers = ToldIndexers::one_with_ring,
                                        .tells_own = true,
                                        .random = random_pools};

}  // namespace hybridkv
