#pragma once

#include <span>

#include "base/embedded_file.h"

namespace hybridkv {

/// The cards of kernels that come with the Python package. Defined in a source that the build writes
/// (cmake/EmbedFiles.cmake).
std::span<const EmbeddedFile> embedded_cards();

}  // namespace hybridkv
