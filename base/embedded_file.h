#pragma once

#include <string_view>

namespace hybridkv {

/// A file of the sources as it was at build time, so that the program finds it wherever it runs.
struct EmbeddedFile {
  std::string_view path;  ///< below the folder of its room: "models/Qwen3.5-4B.yaml"
  std::string_view text;
};

}  // namespace hybridkv
