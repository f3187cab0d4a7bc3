#pragma once

#include <optional>

#include "measure/peak_loops.h"

namespace hybridkv {

/// The loop of products of tiles of bf16; nothing where may_use_amx() is false.
std::optional<PeakLoop> bf16_tile_loop();

}  // namespace hybridkv
