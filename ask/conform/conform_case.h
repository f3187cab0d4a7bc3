#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/conform/conform_prompts.h"
#include "engines/engine.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// A model under a setting: what both sides are asked.
struct ConformCase {
  ModelSpec model;
  EngineSpec engine;
  std::int64_t max_model_len = 0;      ///< tokens
  std::vector<ConformPrompt> prompts;  ///< replayed one after the other; empty: the case is planned alone
  std::string builder;                 ///< the plug-in by which the engine plans it; empty: it does so by itself

  /// "Qwen3.5-4B, TP 2, align, sm90, 32768 tokens": what sets it apart from the usual setting of its model.
  std::string words() const;
};

/// Which cases are run.
struct ConformGrid {
  std::vector<ModelSpec> models;  ///< empty: the shipped ones that stand for the rest
  std::int64_t random = 0;        ///< so many settings beside the grid, over all models
  std::uint64_t seed = 0;
};

/// Can the driver of an engine be told of every layer of the model? What lies beside the layers (rings, hidden states,
/// but for some the indexers) and chunked attention cannot be said yet.
bool can_be_told(const ModelSpec& model, const Conformance& conformance);

/// Cases of an engine. Throws InputError for a model of the grid that no driver can be told of. Pre: the engine has a
/// conformance.
std::vector<ConformCase> conform_cases(const Engine& engine, const ConformGrid& grid);

}  // namespace hybridkv
