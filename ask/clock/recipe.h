#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/clock/measured_rows.h"

namespace hybridkv {

/// Settings that an engine of a table of measured runs was started with, and the runs that had them. What is empty or 0
/// does not count.
struct Recipe {
  // Which runs.
  std::string engine;                     ///< as tables call it
  std::string model, gpu, weights;        ///< the model has it in its name; gpu begins so; weights have it
  std::string since;                      ///< measured on that day or later, or nobody knows when
  std::int64_t gpus = 0, below_gpus = 0;  ///< of a server
  std::int64_t input_tokens = 0, output_tokens = 0;
  std::int64_t least_concurrency = 0, below_concurrency = 0;
  std::int64_t drafts = 0;                ///< of a server with so many drafts a step; 0: of any
  std::int64_t least_ranks = 0;           ///< of attention data parallel, each with a part of the requests

  // What they had.
  std::int64_t budget = 0;
  std::int64_t budget_inputs = 0;         ///< > 0: so many prompts
  std::int64_t budget_burst = 0;          ///< > 0: no fewer than the first burst's prompt and so many tokens
  LoopRules rules;                        ///< polls, waits, whether prompts are cut, and most_running where not 0

  bool fits(const MeasuredRow& row, bool has_drafts) const;
  /// Sets what the recipe says of these rules.
  void apply(const LoadTest& test, LoopRules& rules) const;
};

/// The recipes of a file, those that count first before the others. The columns below_tensor_parallel, since,
/// input_tokens, output_tokens, least_concurrency, whole_prompts, wait_steps, wait_share and balance_steps may be
/// missing. Throws InputError.
std::vector<Recipe> read_recipes(const std::string& path);

/// The first that fits; null: none does.
const Recipe* recipe_of(const std::vector<Recipe>& recipes, const MeasuredRow& row, bool has_drafts);

}  // namespace hybridkv
