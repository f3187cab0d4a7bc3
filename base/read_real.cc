#include "base/read_real.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>
#include <version>

namespace hybridkv {

#ifdef __cpp_lib_to_chars

std::from_chars_result read_real(std::string_view text, double& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value);
}

#else

namespace {

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

/// Characters of the number at the start of the text; 0 where there is none. strtod reads more: spaces, a plus, words,
/// hexadecimal digits.
std::size_t number_length(std::string_view text) {
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  std::size_t end = skip_digits(text, begin);
  std::size_t digits = end - begin;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = end + 1;
    end = skip_digits(text, fraction);
    digits += end - fraction;
  }
  if (digits == 0) return 0;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (const std::size_t last = skip_digits(text, exponent); last > exponent) end = last;
  }
  return end;
}

}  // namespace

std::from_chars_result read_real(std::string_view text, double& value) {
  const std::string number(text.substr(0, number_length(text)));
  const char* const end = text.data() + number.size();
  if (number.empty()) return {end, std::errc::invalid_argument};
  errno = 0;
  const double read = std::strtod(number.c_str(), nullptr);
  // Numbers next to zero are read though strtod reports them.
  if (errno == ERANGE && (read == 0 || std::isinf(read))) return {end, std::errc::result_out_of_range};
  value = read;
  return {end, std::errc()};
}

#endif

}  // namespace hybridkv
