#pragma once

#include <optional>

#include "measure/peak_loops.h"

namespace hybridkv {

/// The loop of products of tiles of bf16 (AMX). Asks the system for the registers of tiles, which it keeps from a
/// process that does not ask (Linux: arch_prctl, ARCH_REQ_XCOMP_PERM); nothing where it refuses or there are none.
std::optional<PeakLoop> bf16_tile_loop();

}  // namespace hybridkv
