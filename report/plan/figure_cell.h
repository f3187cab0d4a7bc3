#pragma once

#include <string_view>

#include "ask/plan_figures.h"
#include "report/table.h"

namespace hybridkv {

/// A figure in its unit: "%" is a share, tokens may be any length.
Cell figure_cell(const FigureValue& value, std::string_view unit);

}  // namespace hybridkv
