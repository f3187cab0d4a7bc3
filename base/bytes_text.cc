#include "base/bytes_text.h"

#include <fmt/format.h>

namespace hybridkv {

std::string bytes_text(std::int64_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(units)) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{} bytes ({:.2f} {})", bytes, amount, units[unit]);
}

}  // namespace hybridkv
