#include "base/number_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace hybridkv {

namespace {

/// Puts a comma after every third digit from the right of the digits in [begin, end) of `text`.
void separate_thousands(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = end; i > begin + 3; i -= 3) text.insert(i - 3, 1, ',');
}

struct Unit {
  const char* name;
  int digits;
};
constexpr std::array<Unit, 7> byte_units{
    {{"B", 0}, {"KiB", 1}, {"MiB", 1}, {"GiB", 2}, {"TiB", 2}, {"PiB", 2}, {"EiB", 2}}};

}  // namespace

std::string human_count(std::int64_t value) {
  std::string text = std::to_string(value);
  separate_thousands(text, value < 0 ? 1 : 0, text.size());
  return text;
}

std::string human_bytes(std::int64_t bytes, Decimals decimals) {
  if (std::abs(static_cast<double>(bytes)) < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // What would be printed as 1024.0 of a unit is 1 of the next.
  const auto rounds_to_1024 = [&] {
    const double scale = std::pow(10, byte_units[unit].digits);
    return std::round(std::abs(value) * scale) / scale >= 1024;
  };
  while (unit + 1 < byte_units.size() && rounds_to_1024()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == std::trunc(value);
  const int digits = decimals == Decimals::trimmed && whole ? 0 : byte_units[unit].digits;
  return fmt::format("{:.{}f} {}", value, digits, byte_units[unit].name);
}

std::string exact_bytes(std::int64_t bytes) {
  std::string text = human_plural(bytes, "byte");
  if (bytes >= 1024) text += fmt::format(" ({})", human_bytes(bytes));
  return text;
}

std::string human_percent(double percent, int digits) { return human_real(percent, digits) + " %"; }

std::string human_share(double share) { return human_percent(100 * share, 1); }

std::string human_real(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (std::isfinite(value)) separate_thousands(text, text[0] == '-' ? 1 : 0, std::min(text.find('.'), text.size()));
  return text;
}

std::string human_ratio(double ratio, int digits) { return human_real(ratio, digits) + "x"; }

std::string human_plural(std::int64_t count, const std::string& noun) {
  return human_count(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string human_seconds(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr Unit units[] = {{3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  // Minutes and hours begin at two of them: 90 s says more than 1.5 min.
  for (const Unit& unit : units) {
    const double value = seconds / unit.seconds;
    if (value < (unit.seconds > 1 ? 2 : 0.9995) && unit.seconds > 1e-6) continue;
    const int digits = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
    return fmt::format("{} {}", human_real(value, digits), unit.name);
  }
  return "0 s";
}

}  // namespace hybridkv
