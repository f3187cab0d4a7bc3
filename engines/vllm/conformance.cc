#include "engines/vllm/conformance.h"

#include <algorithm>
#include <array>

#include "base/random.h"

namespace hybridkv {

namespace {

constexpr std::int64_t usual_memory = std::int64_t{40} << 30;

constexpr std::array profiles_of_heads{BackendProfile::sm80, BackendProfile::sm90, BackendProfile::sm90_flashinfer,
                                       BackendProfile::sm100_flashinfer};
constexpr std::array profiles_of_latents{BackendProfile::sm80, BackendProfile::flash_attn_mla, BackendProfile::flashmla,
                                         BackendProfile::cutlass_mla};

/// With an encoder a step has to be as long as the longest request.
constexpr std::int64_t usual_length_with_encoder = 32'768;

bool has_latents(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return layer.attention && layer.attention->kind == AttentionKind::mla;
  });
}

/// Layers of a draft attend as the model does, where it attends to all tokens.
bool drafts_can_join(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return layer.attention && layer.attention->window_tokens == 0 && !layer.cross;
  });
}

std::span<const BackendProfile> profiles_of(const ModelSpec& model) {
  if (has_latents(model)) return profiles_of_latents;
  return profiles_of_heads;
}

EngineSpec usual_setting(const ModelSpec& model) {
  EngineSpec engine;
  engine.backend_profile = profiles_of(model)[1];
  engine.cache_mode = CacheMode::align;  // that prefixes are cached, whether there are states or not
  engine.memory_bytes = usual_memory;
  if (model.encoder_tokens) engine.max_num_batched_tokens = usual_length_with_encoder;
  return engine;
}

}  // namespace

std::vector<EngineSpec> conform_settings_of_vllm(const ModelSpec& model) {
  std::vector<EngineSpec> settings;
  const auto add = [&](auto change) {
    EngineSpec engine = usual_setting(model);
    change(engine);
    settings.push_back(engine);
  };
  for (const std::int64_t ranks : {1, 2, 4, 8}) add([&](EngineSpec& engine) { engine.tensor_parallel = ranks; });
  for (const BackendProfile profile : profiles_of(model))
    add([&](EngineSpec& engine) { engine.backend_profile = profile; });
  for (const CacheOrder order : all_cache_orders) add([&](EngineSpec& engine) { engine.cache_order = order; });
  add([](EngineSpec& engine) { engine.cache_mode = CacheMode::none; });
  add([](EngineSpec& engine) { engine.kv_dtype = DType::fp8_e4m3; });
  add([](EngineSpec& engine) { engine.ssm_dtype = DType::bf16; });
  add([](EngineSpec& engine) { engine.block_size_tokens = 64; });
  add([](EngineSpec& engine) { engine.prefix_match_unit_tokens = 64; });
  add([](EngineSpec& engine) { engine.num_blocks = 1000; });
  add([](EngineSpec& engine) { engine.memory_bytes = std::int64_t{64} << 20; });
  add([](EngineSpec& engine) { engine.hybrid_manager = false; });
  add([](EngineSpec& engine) { engine.max_num_batched_tokens = 2048; });
  add([](EngineSpec& engine) { engine.concurrent_batches = 1; });
  if (drafts_can_join(model)) add([](EngineSpec& engine) { engine.speculative_tokens = engine.mtp_layers = 1; });
  return settings;
}

std::vector<EngineSpec> built_settings_of_vllm(const ModelSpec& model) {
  std::vector<EngineSpec> settings;
  const auto add = [&](std::int64_t pack, auto change) {
    EngineSpec engine = usual_setting(model);
    engine.attention_pack_size = pack;
    change(engine);
    settings.push_back(engine);
  };
  for (const std::int64_t pack : {1, 2, 3, 4, 5, 15}) add(pack, [](EngineSpec&) {});
  for (const std::int64_t pack : {1, 2, 3, 4, 5})
    add(pack, [](EngineSpec& engine) {
      engine.tensor_parallel = 2;
      engine.memory_bytes = std::int64_t{23} << 30;
    });
  add(3, [](EngineSpec& engine) { engine.cache_order = CacheOrder::blhnc; });
  add(2, [](EngineSpec& engine) { engine.cache_mode = CacheMode::none; });
  add(2, [](EngineSpec& engine) { engine.prefix_match_unit_tokens = 16; });
  add(4, [](EngineSpec& engine) { engine.kv_dtype = DType::fp8_e4m3; });
  add(1, [](EngineSpec& engine) { engine.layers_per_group = 2; });
  add(2, [](EngineSpec& engine) { engine.layers_per_group = 3; });
  return settings;
}

EngineSpec random_conform_setting_of_vllm(const ModelSpec& model, std::uint64_t key) {
  EngineSpec engine = usual_setting(model);
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t sides) { return mix(key, ++draws) % sides; };
  engine.tensor_parallel = std::int64_t{1} << draw(4);
  engine.backend_profile = profiles_of(model)[draw(profiles_of(model).size())];
  if (draw(3) == 0) engine.cache_mode = CacheMode::none;
  if (draw(3) == 0) engine.kv_dtype = DType::fp8_e4m3;
  if (draw(4) == 0) engine.ssm_dtype = draw(2) == 0 ? DType::bf16 : DType::fp32;
  if (draw(2) == 0) engine.cache_order = all_cache_orders[draw(all_cache_orders.size())];
  if (draw(3) == 0) engine.block_size_tokens = std::int64_t{16} << draw(6);
  if (draw(4) == 0) engine.prefix_match_unit_tokens = std::int64_t{16} << draw(4);
  if (draw(4) == 0) engine.num_blocks = static_cast<std::int64_t>(2 + draw(20'000));
  if (draw(4) == 0 && drafts_can_join(model)) engine.speculative_tokens = engine.mtp_layers = 1;
  engine.memory_bytes = static_cast<std::int64_t>((std::uint64_t{1} << 28) + draw(std::uint64_t{80} << 30));
  engine.max_num_batched_tokens = static_cast<std::int64_t>(std::uint64_t{1024} << draw(5));
  return engine;
}

const Conformance conformance_of_vllm_0_33{.driver = "vllm/conform/driver.py",
                                           .version = "0.33.0",
                                           .grid = conform_settings_of_vllm,
                                           .built = built_settings_of_vllm,
                                           .tells_indexers = ToldIndexers::of_layers,
                                           .tells_chunks_and_encoders = true,
                                           .random = random_conform_setting_of_vllm};

}  // namespace hybridkv
