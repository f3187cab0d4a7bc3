#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridkv {

/// A load test of an engine that runs.
struct LoadTestQuestion {
  std::string model;
  std::int64_t input = 0;        ///< tokens of a prompt
  std::int64_t output = 0;       ///< tokens of an answer
  std::int64_t concurrency = 0;
  std::int64_t requests = 0;
  std::string file;              ///< that gets the result
};

/// What a clock knows of an engine: how it puts the steps of a load test together, and where its coefficients stand.
struct EngineClock {
  std::string_view name;          ///< as tables of measured runs call it: "vllm", without a version
  std::string_view file;          ///< of its coefficients, among embedded_clocks
  bool prompts_alone = false;     ///< while prompts wait, steps compute nothing else
  bool reserves_outputs = false;  ///< nobody is admitted who might not fit the cache at its end
  bool loads_by_layer = false;    ///< what was found on the host is loaded beside the step that reads it
  double memory_share = 0.9;      ///< of a GPU's memory that weights, cache and what lies beside them may take
  std::string (*bench)(const LoadTestQuestion& question) = nullptr;  ///< the command of its own load test
  /// The command of its benchmark of forward passes over a file of shapes, with the file of the result; null: none.
  std::string (*forward)(const std::string& model, const std::string& shapes, const std::string& result) = nullptr;
};

}  // namespace hybridkv
