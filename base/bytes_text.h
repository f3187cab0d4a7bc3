#pragma once

#include <cstdint>
#include <string>

namespace hybridkv {

/// A number of bytes for a message, exact and readable: "2162688 bytes (2.06 MiB)"; below 1 KiB only "100 bytes".
std::string bytes_text(std::int64_t bytes);

}  // namespace hybridkv
