#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace hybridkv {

/// A value of an engine's flag, and what our key calls it.
struct WordValue {
  std::string_view engine;
  std::string_view key;  ///< empty: it is the default, and nothing is set
};

/// How a number behind a flag is written.
enum class WordNumber {
  as_written,  ///< as a scenario takes it, or no number at all
  human,       ///< k, m, g are powers of 1,000, and K, M, G of 1,024
};

/// A flag of an engine.
struct EngineWord {
  std::string_view flag;       ///< "--max-num-seqs"; a key of a mapping behind a flag is "--speculative-config.method"
  std::string_view key = {};   ///< that it sets, "engine.tensor_parallel"; empty: it changes nothing of the cache
  std::string_view alone = {}; ///< what it sets where it stands without a value; empty: a value follows
  std::span<const WordValue> values = {};  ///< other values are taken as they are written, unless
  bool only_these = false;                 ///< no key of ours says another value
  WordNumber number = WordNumber::as_written;
};

/// Keys of a scenario with their values, as a scenario writes them; "boot.utilization", "boot.max_num_seqs" and
/// "boot.enforce_eager" are for the question whether an engine starts.
using KeyValues = std::map<std::string, std::string>;

/// How the command that starts an engine is read.
struct CommandGrammar {
  std::string_view example;                    ///< "vllm serve MODEL --tensor-parallel-size 2"
  std::span<const std::string_view> programs;  ///< words with which it begins: "vllm serve", "sglang.launch_server"
  std::span<const EngineWord> words;
  /// Variables before the command, as words whose flags are their names.
  std::span<const EngineWord> variables;
  std::span<const std::string_view> model_flags;   ///< "--model"; else the first word that is no flag is the model
  std::span<const std::string_view> config_flags;  ///< of a YAML file, whose keys are flags without their hyphens
  /// What follows from several flags together; null: nothing does.
  void (*settle)(KeyValues& keys) = nullptr;
  /// The name of the model whose weights are in such a file or repository; null: they are called as the model is.
  std::string (*model_name)(std::string_view weights) = nullptr;
};

}  // namespace hybridkv
