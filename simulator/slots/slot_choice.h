#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/slots/server_slot.h"
#include "simulator/slots/slot_event.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

struct SlotChoice {
  std::size_t slot = 0;
  bool asks_saved = false;  ///< what it holds is saved, and a saved prompt that fits better is looked for
};

/// The slot that takes a prompt: the first of those whose content shares most of it, where that is more than
/// `least_similarity` of it, else the one that was used longest ago, the last one by number of those never used; or the
/// one that it asks for. Shares are computed in single precision, as thresholds are met exactly.
/// Source: llama.cpp b11312 server, run; a slot that is asked for: read.
SlotChoice choose_slot(const std::vector<ServerSlot>& slots, std::span<const TokenRun> prompt,
                       const SlotSettings& settings, std::optional<std::int64_t> asked, const SlotLog& log);

}  // namespace hybridkv
