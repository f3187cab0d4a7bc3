#include "engines/llama_cpp/conformance.h"

#include <array>

#include "base/random.h"
#include "planner/row_settings.h"

namespace hybridkv {

namespace {

/// More than any context of the grid takes, so that the cells are those asked for.
constexpr std::int64_t ample_memory = std::int64_t{1} << 40;

/// One of each architecture that the driver writes. Small ones: the server takes the memory that it says.
constexpr auto models_of_llama_cpp = std::to_array<std::string_view>(
    {"Qwen3.5-0.8B", "Qwen3.5-4B", "LFM2.5-1.2B", "Falcon-H1-0.5B", "granite-4.0-h-350m", "Nemotron-3-Nano-30B-A3B",
     "Kimi-Linear-48B-A3B", "Qwen3-Next-80B-A3B"});

/// Prompts are computed, on a processor.
constexpr std::int64_t longest_computed = 300;

EngineSpec usual_context() {
  EngineSpec engine;
  engine.strategy = Strategy::sequence_rows;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = ample_memory;
  engine.own.set(row_key::ctx_size, 1000);
  return engine;
}

/// What prompts meet: short steps, few checkpoints, small or no caches of prompts, cells that run out.
std::vector<EngineSpec> settings_of_prompts(const ModelSpec&) {
  std::vector<EngineSpec> settings;
  const auto add = [&](auto change) {
    settings.push_back(usual_context());
    change(settings.back());
  };
  add([](EngineSpec&) {});
  add([](EngineSpec& engine) { engine.max_running_requests = 1, engine.own.set(row_key::ctx_size, 200); });
  add([](EngineSpec& engine) { engine.max_running_requests = 3, engine.own.set(row_key::batch_size, 100); });
  add([](EngineSpec& engine) { engine.own.set(row_key::batch_size, 64), engine.own.set(row_key::ubatch_size, 16); });
  for (const std::int64_t checkpoints : {0, 1, 4})
    add([&](EngineSpec& engine) {
      engine.own.set(row_key::ctx_checkpoints, checkpoints);
      engine.own.set(row_key::checkpoint_min_step, 50);
      engine.own.set(row_key::ubatch_size, 16);
    });
  for (const std::int64_t ram : {-1, 0, 8, 64})
    add([&](EngineSpec& engine) {
      engine.own.set(row_key::cache_ram, ram);
      engine.own.set(row_key::ctx_size, 500);
      engine.own.set(row_key::ubatch_size, 32);
    });
  add([](EngineSpec& engine) { engine.own.set(row_key::cache_ram, 0), engine.own.set(row_key::ctx_size, 250); });
  add([](EngineSpec& engine) {
    engine.max_running_requests = 3;
    engine.own.set(row_key::cache_idle_slots, false);
    engine.own.set(row_key::ubatch_size, 32);
  });
  for (const std::int64_t percent : {0, 60})
    add([&](EngineSpec& engine) { engine.own.set(row_key::slot_prompt_similarity_percent, percent); });
  return settings;
}

std::vector<EngineSpec> settings_of_contexts(const ModelSpec&) {
  std::vector<EngineSpec> settings;
  const auto add = [&](auto change) {
    settings.push_back(usual_context());
    change(settings.back());
  };
  add([](EngineSpec&) {});
  for (const std::int64_t sequences : {1, 2, 3})
    add([&](EngineSpec& engine) { engine.max_running_requests = sequences; });
  add([](EngineSpec& engine) { engine.max_running_requests = 3, engine.own.set(row_key::kv_unified, true); });
  add([](EngineSpec& engine) { engine.own.set(row_key::kv_unified, false); });
  add([](EngineSpec& engine) { engine.own.set(row_key::ctx_size, 4097); });
  add([](EngineSpec& engine) { engine.own.set(row_key::batch_size, 100); });
  add([](EngineSpec& engine) { engine.own.set(row_key::ubatch_size, 64); });
  add([](EngineSpec& engine) { engine.own.set(row_key::cache_type_k, CellType::q8_0); });
  add([](EngineSpec& engine) { engine.own.set(row_key::cache_type_v, CellType::q4_0); });
  add([](EngineSpec& engine) {
    engine.own.set(row_key::cache_type_v, CellType::q4_0);
    engine.own.set(row_key::flash_attn, FlashAttention::off);
  });
  add([](EngineSpec& engine) {
    engine.own.set(row_key::cache_type_k, CellType::f32);
    engine.own.set(row_key::cache_type_v, CellType::bf16);
  });
  return settings;
}

EngineSpec random_context(const ModelSpec&, std::uint64_t key) {
  EngineSpec engine = usual_context();
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t sides) { return mix(key, ++draws) % sides; };
  const auto draw_number = [&](std::uint64_t sides) { return static_cast<std::int64_t>(1 + draw(sides)); };
  engine.own.set(row_key::ctx_size, draw_number(4096));
  if (draw(3) > 0) engine.max_running_requests = draw_number(6);
  if (draw(2) == 0) engine.own.set(row_key::kv_unified, draw(2) == 0);
  if (draw(2) == 0) engine.own.set(row_key::batch_size, draw_number(2048));
  // Short steps half of the time, so that prompts leave checkpoints within them.
  if (draw(4) > 0) engine.own.set(row_key::ubatch_size, draw_number(draw(2) == 0 ? 1024 : 64));
  if (draw(2) == 0) engine.own.set(row_key::cache_type_k, all_cell_types[draw(all_cell_types.size())]);
  if (draw(2) == 0) engine.own.set(row_key::cache_type_v, all_cell_types[draw(all_cell_types.size())]);
  if (draw(3) == 0) engine.own.set(row_key::flash_attn, draw(2) == 0 ? FlashAttention::on : FlashAttention::off);
  if (draw(2) == 0) engine.own.set(row_key::ctx_checkpoints, static_cast<std::int64_t>(draw(6)));
  if (draw(2) == 0) engine.own.set(row_key::checkpoint_min_step, static_cast<std::int64_t>(draw(300)));
  if (draw(2) == 0) engine.own.set(row_key::cache_ram, static_cast<std::int64_t>(draw(200)) - 1);
  if (draw(3) == 0) engine.own.set(row_key::cache_idle_slots, false);
  if (draw(3) == 0) engine.own.set(row_key::slot_prompt_similarity_percent, static_cast<std::int64_t>(draw(100)));
  return engine;
}

}  // namespace

const Conformance conformance_of_llama_cpp{.driver = "llama_cpp/conform/driver.py",
                                           .version = "0c1e570",
                                           .grid = settings_of_contexts,
                                           .models = models_of_llama_cpp,
                                           .tells_own = true,
                                           .random = random_context,
                                           .longest_prompt = longest_computed,
                                           .computed = settings_of_prompts,
                                           .program_flag = "--llama-server"};

}  // namespace hybridkv
