#include "base/checked.h"

namespace hybridkv {

std::string divisors_text(std::int64_t value) {
  constexpr std::int64_t max_tried = 1'000'000;
  constexpr int max_listed = 24;
  std::string text;
  int num_listed = 0;
  for (std::int64_t divisor = 1; divisor <= value; ++divisor) {
    if (divisor > max_tried || num_listed == max_listed) return text + ", …, " + std::to_string(value);
    if (value % divisor != 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(divisor);
    ++num_listed;
  }
  return text;
}

}  // namespace hybridkv
