#pragma once

#include <string>

#include "ask/conform/conform.h"
#include "report/format.h"

namespace hybridkv {

/// `conform --format FORMAT`: what agrees, and of every rule that an installed engine falsifies the first case with the
/// first figure that differs and both derivations; csv: the figures with how many were compared and equal.
std::string render_conform(const ConformAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
