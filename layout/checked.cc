#include "layout/checked.h"

namespace hybridkv {

std::string divisors_text(std::int64_t value) {
  std::string text;
  for (std::int64_t divisor = 1; divisor <= value; ++divisor)
    if (value % divisor == 0) text += (text.empty() ? "" : ", ") + std::to_string(divisor);
  return text;
}

}  // namespace hybridkv
