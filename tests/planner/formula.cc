#include "tests/planner/formula.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace hybridkv::testing {

namespace {

class Formula {
 public:
  explicit Formula(std::string_view text) : text_(text) {}

  double value() {
    const double result = sum();
    skip_spaces();
    if (at_ != text_.size()) fail();
    return result;
  }

 private:
  [[noreturn]] void fail() const { throw std::invalid_argument("no formula: " + std::string(text_)); }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  double sum() {
    double result = product();
    while (true) {
      if (take('+'))
        result += product();
      else if (take('-'))
        result -= product();
      else
        return result;
    }
  }

  double product() {
    double result = factor();
    while (true) {
      if (take('*'))
        result *= factor();
      else if (take('/'))
        result /= factor();
      else
        return result;
    }
  }

  double factor() {
    if (take('-')) return -factor();
    if (take('(')) return closed(sum());
    skip_spaces();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number();
    std::string name;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) name += text_[at_++];
    if (!take('(')) fail();
    std::vector<double> arguments{sum()};
    while (take(',')) arguments.push_back(sum());
    return closed(call(name, arguments));
  }

  double closed(double value) {
    if (!take(')')) fail();
    return value;
  }

  double number() {
    const std::string rest(text_.substr(at_));
    char* end = nullptr;
    const double value = std::strtod(rest.c_str(), &end);
    at_ += static_cast<std::size_t>(end - rest.c_str());
    return value;
  }

  double call(const std::string& name, const std::vector<double>& arguments) const {
    if (name == "ceil") return std::ceil(arguments.front());
    if (name == "floor" || name == "int") return std::floor(arguments.front());
    if (name == "max") return *std::max_element(arguments.begin(), arguments.end());
    if (name == "min") return *std::min_element(arguments.begin(), arguments.end());
    if (name != "lcm") fail();
    std::int64_t multiple = 1;
    for (double argument : arguments) multiple = std::lcm(multiple, static_cast<std::int64_t>(argument));
    return static_cast<double>(multiple);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

double value_of_formula(const std::string& text) {
  const std::size_t sign = text.find(" = ");
  return Formula(sign == std::string::npos ? std::string_view(text) : std::string_view(text).substr(sign + 3)).value();
}

}  // namespace hybridkv::testing
