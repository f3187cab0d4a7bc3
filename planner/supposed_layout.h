#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mamba/state_spec.h"

namespace hybridkv {

struct EngineSpec;

/// Rules of a layout that no engine has, in place of the engine's own: engine.what_if. A plan that follows one is
/// modelled, whatever else was run.
struct SupposedLayout {
  std::string block_formula;                      ///< of B, over A, M, N, a1, k and in mode all C; empty: the engine's
  std::optional<std::int64_t> page_bytes;         ///< P; default: the largest page
  std::vector<std::vector<std::int64_t>> groups;  ///< layers of each group, every one once; empty: the engine's
  StatePlacement states;                          ///< default: one behind the other from the front of the page
  bool operator==(const SupposedLayout&) const = default;
};

/// What is supposed, a key each with its value: "page_bytes 4194304". Empty where nothing is.
std::vector<std::string> supposed_texts(const SupposedLayout& what_if);

/// Checks what is supposed for itself, and that the strategy has pages that all layers share. Throws SpecError.
void validate_supposed(const EngineSpec& engine);

}  // namespace hybridkv
