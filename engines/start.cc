#include "engines/start.h"

#include <fmt/format.h>

namespace hybridkv {

std::string printed_gib(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30));
}

}  // namespace hybridkv
