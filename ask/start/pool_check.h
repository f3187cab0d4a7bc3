#pragma once

#include <cstdint>
#include <optional>

#include "ask/start/doctor_check.h"

namespace hybridkv {

/// The same as check_settings for engines that print sizes of pools: slots, cells or blocks, and the bytes of tensors
/// in the unit of the engine. Settings say how large the pools are, of blocks the log.
std::optional<SettingsCheck> check_pools(const StartupLog& log, const ModelSpec& model, const EngineSpec& engine,
                                         std::int64_t length);

}  // namespace hybridkv
