#include "report/human.h"

#include <fmt/format.h>

#include <algorithm>

namespace hybridkv {

std::string human_list(std::span<const std::int64_t> values) {
  constexpr std::size_t most_in_full = 6;
  constexpr std::size_t shown_of_more = 4;
  std::string text;
  const auto append = [&](std::span<const std::int64_t> part) {
    for (std::int64_t value : part) text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
  };
  if (values.size() <= most_in_full) {
    append(values);
    return text;
  }
  const std::int64_t step = values[1] - values[0];
  bool even = step > 0;
  for (std::size_t i = 2; i < values.size(); ++i) even = even && values[i] - values[i - 1] == step;
  if (even)
    return fmt::format("{} to {}{}", values.front(), values.back(), step == 1 ? "" : fmt::format(" by {}", step));
  append(values.first(shown_of_more));
  return fmt::format("{}, ..., {} ({} in all)", text, values.back(), values.size());
}

}  // namespace hybridkv
