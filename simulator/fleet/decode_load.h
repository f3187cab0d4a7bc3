#pragma once

#include <cstdint>

#include "clock/load_test.h"
#include "simulator/fleet/decode_pool.h"

namespace hybridkv {

/// Replicas that compute prompts and others that generate behind them, under a load test.
struct DecodeLoad {
  LoadTest test;
  DriverSpec prompts, outputs;   ///< clock and loop of a replica of either side
  std::int64_t prompt_replicas = 1;
  DecodeSpec decode;
};

/// What its requests take, from sending to the last token. A prompt goes to the replica with the fewest requests. Pre:
/// both sides have a clock, both numbers are at least 1.
LoadFigures figures_of(const DecodeLoad& load);

}  // namespace hybridkv
