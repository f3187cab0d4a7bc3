#pragma once

#include <span>

#include "base/embedded_file.h"

namespace hybridkv {

/// What is emitted of builders, by path below engines/. Defined in a source that the build writes
/// (cmake/EmbedFiles.cmake).
std::span<const EmbeddedFile> embedded_builders();

/// The clocks of engines, by path below engines/: "vllm/clock.json".
std::span<const EmbeddedFile> embedded_clocks();

}  // namespace hybridkv
