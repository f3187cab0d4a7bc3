#pragma once

#include <span>

#include "base/embedded_file.h"

namespace hybridkv {

/// The scenarios and model files, by path. Defined in a source that the build writes (cmake/EmbedFiles.cmake).
std::span<const EmbeddedFile> embedded_files();

/// class_defaults.json alone; likewise.
std::span<const EmbeddedFile> embedded_class_defaults();

}  // namespace hybridkv
