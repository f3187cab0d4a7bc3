#include "base/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "base/digit.h"
#include "base/suggest.h"

namespace hybridkv {

namespace {

constexpr auto function_names = std::to_array<std::string_view>({"ceil", "floor", "max", "min", "lcm"});
constexpr int most_nested = 100;  // brackets; deeper ones would end the stack

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// A fraction in lowest terms, its denominator above zero.
struct Fraction {
  std::int64_t over = 0;
  std::int64_t under = 1;

  static Fraction of(Checked over, Checked under) {
    if (under < 0) over = Checked(0) - over, under = Checked(0) - under;
    const std::int64_t common = std::gcd(std::int64_t(over < 0 ? Checked(0) - over : over), std::int64_t(under));
    return {over / common, under / common};
  }
  friend Fraction operator+(Fraction a, Fraction b) {
    return of(Checked(a.over) * b.under + Checked(b.over) * a.under, Checked(a.under) * b.under);
  }
  friend Fraction operator-(Fraction a, Fraction b) {
    return of(Checked(a.over) * b.under - Checked(b.over) * a.under, Checked(a.under) * b.under);
  }
  friend Fraction operator*(Fraction a, Fraction b) {
    // What cancels does so first, so that only results that are too large leave 64 bits.
    const Fraction left = of(a.over, b.under), right = of(b.over, a.under);
    return {Checked(left.over) * right.over, Checked(left.under) * right.under};
  }
  friend bool operator<(Fraction a, Fraction b) { return Checked(a.over) * b.under < Checked(b.over) * a.under; }
  /// The largest whole number that is not above it.
  std::int64_t floored() const { return over / under - (over % under < 0 ? 1 : 0); }
};

class FormulaReader {
 public:
  FormulaReader(std::string_view text, std::span<const FormulaSymbol> symbols) : text_(text), symbols_(symbols) {}

  std::int64_t value() {
    try {
      const Fraction result = sum();
      skip_spaces();
      if (at_ < text_.size()) fail(fmt::format("'{}' is not expected", text_[at_]), "write one formula");
      if (result.under != 1)
        throw FormulaError(fmt::format("'{}' comes to {}/{}, no whole number; round it by ceil(…) or floor(…)", text_,
                                       result.over, result.under));
      return result.over;
    } catch (const FormulaError&) {
      throw;
    } catch (const InputError& error) {
      throw FormulaError(fmt::format("'{}': {}", text_, error.what()));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::string_view way_out) const {
    throw FormulaError(fmt::format("'{}': {} at its character {}; {}", text_, what, at_ + 1, way_out));
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Fraction sum() {
    Fraction result = product();
    while (true) {
      if (take('+')) result = result + product();
      else if (take('-')) result = result - product();
      else return result;
    }
  }

  Fraction product() {
    Fraction result = factor();
    while (true) {
      if (take('*')) {
        result = result * factor();
      } else if (take('/')) {
        const Fraction by = factor();
        if (by.over == 0) fail("a division by zero ends", "divide by what is above it");
        result = result * Fraction::of(by.under, by.over);
      } else {
        return result;
      }
    }
  }

  Fraction factor() {
    skip_spaces();
    if (at_ == text_.size()) fail("a number, a name or a bracket is missing", "like A * ceil(M / (A * a1))");
    if (++nested_ > most_nested) fail("too many brackets", fmt::format("take at most {}", most_nested));
    const Fraction result = take('-') ? Fraction{} - factor() : take('(') ? closed(sum()) : atom();
    --nested_;
    return result;
  }

  Fraction closed(Fraction value) {
    if (!take(')')) fail("')' is missing", "close the bracket");
    return value;
  }

  Fraction atom() {
    if (is_digit(text_[at_])) return {number(), 1};
    if (!is_letter(text_[at_]))
      fail(fmt::format("'{}' is no number, no name and no bracket", text_[at_]), "like A * ceil(M / (A * a1))");
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    const bool is_call = std::find(function_names.begin(), function_names.end(), name) != function_names.end();
    if (is_call && take('(')) return call(name);
    for (const FormulaSymbol& symbol : symbols_)
      if (symbol.name == name) return {symbol.value, 1};
    at_ = begin;
    fail(fmt::format("'{}' is unknown", name), known_names(std::string(name)));
  }

  std::string known_names(const std::string& name) const {
    std::vector<std::string> known;
    for (const FormulaSymbol& symbol : symbols_) known.emplace_back(symbol.name);
    for (const std::string_view function : function_names) known.push_back(fmt::format("{}(…)", function));
    return suggestion(name, known, "there are").substr(2);
  }

  std::int64_t number() {
    Checked value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) value = value * 10 + (text_[at_] - '0');
    return value;
  }

  Fraction call(std::string_view name) {
    std::vector<Fraction> values{sum()};
    while (take(',')) values.push_back(sum());
    const Fraction first = closed(values.front());
    if (name == "ceil" || name == "floor") {
      if (values.size() > 1) fail(fmt::format("{} of {} values ends", name, values.size()), "give it one");
      if (name == "floor") return {first.floored(), 1};
      return {Checked(0) - (Fraction{} - first).floored(), 1};
    }
    if (name == "max") return *std::max_element(values.begin(), values.end());
    if (name == "min") return *std::min_element(values.begin(), values.end());
    std::int64_t multiple = 1;
    for (const Fraction& value : values) {
      if (value.under != 1 || value.over < 1) fail("lcm of what is no whole number above 0 ends", "round it first");
      multiple = checked_lcm(multiple, value.over);
    }
    return {multiple, 1};
  }

  std::string_view text_;
  std::span<const FormulaSymbol> symbols_;
  std::size_t at_ = 0;
  int nested_ = 0;
};

}  // namespace

std::int64_t value_of_formula(std::string_view formula, std::span<const FormulaSymbol> symbols) {
  return FormulaReader(formula, symbols).value();
}

std::vector<FormulaSymbol> used_symbols(std::string_view formula, std::span<const FormulaSymbol> symbols) {
  const auto is_named = [&](std::string_view name) {
    for (std::size_t at = formula.find(name); at != std::string_view::npos; at = formula.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const auto is_inside = [](char c) { return is_letter(c) || is_digit(c); };
      if ((at == 0 || !is_inside(formula[at - 1])) && (end == formula.size() || !is_inside(formula[end]))) return true;
    }
    return false;
  };
  std::vector<FormulaSymbol> used;
  std::copy_if(symbols.begin(), symbols.end(), std::back_inserter(used),
               [&](const FormulaSymbol& symbol) { return is_named(symbol.name); });
  return used;
}

}  // namespace hybridkv
