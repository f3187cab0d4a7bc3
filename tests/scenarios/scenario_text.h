#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "scenarios/read.h"

namespace hybridkv::test {

/// The message of the InputError that `action` throws, or "no error".
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// A small scenario in which line 4 is one more key of the engine.
inline std::string engine_text(std::string_view line) {
  return "model: Qwen3.5-4B\nengine:\n  memory: 40 GiB\n  " + std::string(line) +
         "\nlimits:\n  max_model_len: 32768\n";
}

/// A small scenario whose model is written out with kinds a (attention), m (gdn) and E (none); lines 7 and on are
/// further keys of the model.
inline std::string model_text(std::string_view lines) {
  return "model:\n  name: x\n  kinds:\n"
         "    a: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 64}\n"
         "    m: {type: gdn, key_heads: 2, value_heads: 4, key_head_dim: 8, value_head_dim: 8, conv_kernel: 4}\n"
         "    E: {type: none}\n" +
         std::string(lines) + "\nengine: {memory: 40 GiB}\nlimits: {max_model_len: 32768}\n";
}

inline Scenario read_text_as_scenario(std::string_view yaml) { return read_scenario(parse_scenario(yaml, "bad.yaml")); }

/// The message of reading a scenario that messages call "bad.yaml".
inline std::string reading_error(std::string_view yaml) {
  return error_of([&] { read_scenario(parse_scenario(yaml, "bad.yaml")); });
}

}  // namespace hybridkv::test
