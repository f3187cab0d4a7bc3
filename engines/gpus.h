#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "clock/gpu_speed.h"
#include "planner/backend_profile.h"

namespace hybridkv {

/// A GPU as engines find it.
struct Gpu {
  std::string_view name;
  std::int64_t total_bytes = 0;  ///< as the driver reports it, less than what is sold
  std::optional<BackendProfile> profile;  ///< of the kernels that engines choose on it; nothing: the scenario says it
  GpuSpeed speed = {};  ///< by its datasheet; all 0: not known
};

/// All that are known.
std::span<const Gpu> known_gpus();

/// A card of which nothing but its memory is known.
Gpu unnamed_gpu(std::int64_t total_bytes);

/// The GPU of this name; upper and lower case, spaces and hyphens do not count, nor the maker and "RTX" before it.
/// Throws InputError with the closest names for any other.
const Gpu& find_gpu(const std::string& name);

}  // namespace hybridkv
