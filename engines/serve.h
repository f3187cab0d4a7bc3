#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/model_spec.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/schedule/scheduler_settings.h"

namespace hybridkv {

/// One choice as users type it.
struct EngineSetting {
  std::string key;    ///< of a scenario: "engine.attention_pack_size"
  std::string value;  ///< in a scenario: "5"
  std::string flag;   ///< of the engine: "--attn-pack-size 5", or a line of its file; empty: the engine's own default
};

/// How the engine is started with a store of blocks beyond its own memory. From the engine's package and the store's
/// documentation; no run of ours.
struct ServeRecipe {
  std::string name;                   ///< of the store: "LMCache"
  std::vector<std::string> commands;  ///< lines for a shell, in the order in which they are started
  std::vector<std::string> beside;    ///< why they say what they say, a sentence each
  bool operator==(const ServeRecipe&) const = default;
};

/// How the engine itself is started with what was planned.
struct ServeCommand {
  std::string command;               ///< one line for a shell; empty: no engine runs it
  std::vector<std::string> beside;   ///< what no flag says, a sentence each
  std::vector<ServeRecipe> recipes;  ///< of stores beyond its memory; empty: none is known for what was planned
  bool operator==(const ServeCommand&) const = default;
};

/// What a command line has to say.
struct Served {
  const ModelSpec& model;
  const EngineSpec& engine;             ///< every choice made, as it was planned
  const LimitsSpec& limits;
  const SchedulerSettings& scheduler;
  const CachePlan& plan;                ///< of that engine
  std::vector<EngineSetting> settings;  ///< what was chosen; their flags go into the command line as they are
  /// Of an engine whose start is known: its share of a GPU, said in place of the memory for the cache.
  std::optional<double> gpu_share = std::nullopt;
};

/// What a plan of blocks alone knows of what was chosen.
struct PlannedChoice {
  const CachePlan& plan;
  std::optional<std::int64_t> block_floor;  ///< engine.block_size_tokens; unset: the engine's own
  bool says_mode = true;                    ///< false: the mode is the engine's default, which needs no word
};

/// What was chosen of a cache of blocks.
struct BlockChoice {
  const CachePlan& plan;
  const CacheGeometry& geometry;
  std::optional<std::int64_t> block_floor;        ///< engine.block_size_tokens; unset: the engine's own
  std::optional<std::int64_t> match_unit_tokens;  ///< unset: the block
  std::optional<std::int64_t> retention_tokens;   ///< unset: all states stay
};

/// The command line of the plan's engine, with its flags as it names them; the repository of a model is that of its
/// ModelSpec::source.
ServeCommand serve_command(const Served& served);

/// The choices of a cache of blocks, with the flags of its engine where they are known.
std::vector<EngineSetting> block_settings(const BlockChoice& choice);

/// The choices that a plan alone knows: of an engine with an index of its own all of them, else PlannedChoice's.
std::vector<EngineSetting> planned_settings(const EngineSpec& engine, const PlannedChoice& choice);

/// The choices of an engine with an index of its own. Pre: it has such settings.
std::vector<EngineSetting> own_settings(const EngineSpec& engine);

/// Words of a command line, each quoted where a shell needs it.
class CommandLine {
 public:
  explicit CommandLine(std::string start) : text_(std::move(start)) {}
  /// Words that are written for a shell already; nothing where there are none.
  CommandLine& add(const std::string& words);
  CommandLine& add(const std::string& flag, const std::string& value);
  CommandLine& add(const std::string& flag, std::int64_t value) { return add(flag, std::to_string(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Adds what has to be said of the model: its repository, or that its name stands for one.
void add_model(CommandLine& line, const std::string& flag, const ModelSpec& model, std::vector<std::string>& beside);

/// Element types as engines name them: "bfloat16", "float32", "fp8_e4m3"; the scenario's name of any other.
std::string engine_name(DType dtype);

/// The longest of the lengths asked about, tokens.
std::int64_t served_length(const LimitsSpec& limits);

}  // namespace hybridkv
