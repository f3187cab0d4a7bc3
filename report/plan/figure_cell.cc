#include "report/plan/figure_cell.h"

namespace hybridkv {

Cell figure_cell(const FigureValue& value, std::string_view unit) {
  if (const auto* real = std::get_if<double>(&value)) return unit == "%" ? Cell(Percent{*real}) : Cell(Real{*real});
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<std::int64_t>(&value)) return unit == "tokens" ? Cell(Length{*count}) : *count;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::monostate();
}

}  // namespace hybridkv
