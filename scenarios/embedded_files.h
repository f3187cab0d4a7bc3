#pragma once

#include <span>
#include <string_view>

namespace hybridkv {

/// A file of this folder as it was at build time, so that the program finds it wherever it runs.
struct EmbeddedFile {
  std::string_view path;  ///< below scenarios/: "qwen3.5-397b.yaml", "models/Qwen3.5-4B.yaml"
  std::string_view text;
};

/// The scenarios and model files, by path. Defined in a source that the build writes (cmake/EmbedFiles.cmake).
std::span<const EmbeddedFile> embedded_files();

/// class_defaults.json alone; likewise.
std::span<const EmbeddedFile> embedded_class_defaults();

}  // namespace hybridkv
