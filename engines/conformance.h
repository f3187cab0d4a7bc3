#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// What a driver is told of indexers and what lies beside them. Models with more are not asked about.
enum class ToldIndexers {
  none,
  one_with_ring,  ///< that all layers have the same one, and tokens of a ring beside it
  of_layers,      ///< that of each layer, and orders that the model reads
};

/// How the code of an installed engine is asked for the figures that we compute too.
struct Conformance {
  std::string_view driver;   ///< a Python program below engines/: "vllm/conform/driver.py"
  std::string_view version;  ///< of the package, that the rules are of: "0.33.0"
  /// Settings, without their rules, with each of which a model is planned; those that it cannot have are refused by
  /// both sides.
  std::vector<EngineSpec> (*grid)(const ModelSpec& model) = nullptr;
  /// Settings that it plans with a plug-in of ours alone (Engine::emit); null: it has none.
  std::vector<EngineSpec> (*built)(const ModelSpec& model) = nullptr;
  /// Shipped models that stand for the rest; empty: those that do for engines of blocks.
  std::span<const std::string_view> models = {};
  ToldIndexers tells_indexers = ToldIndexers::none;
  bool tells_chunks_and_encoders = false;  ///< a driver is told of attention to chunks and to an encoder
  bool tells_own = false;  ///< a driver is told what only this engine is set by, and how memory is shared
  /// A setting of that key: the same key, the same setting.
  EngineSpec (*random)(const ModelSpec& model, std::uint64_t key) = nullptr;
  std::int64_t longest_prompt = 8000;  ///< tokens, of those that are replayed
  /// Settings under which prompts are replayed, where the engine computes them: by models of a few layers, that differ
  /// in nothing else. Null: prompts are replayed under every setting.
  std::vector<EngineSpec> (*computed)(const ModelSpec& model) = nullptr;
  /// The flag that names the engine's own program, for a driver that runs it; empty: the engine is Python's.
  std::string_view program_flag = "";
};

}  // namespace hybridkv
