#pragma once

#include <string>

#include "ask/compare/compare_rules.h"

namespace hybridkv {

/// A number, word or answer as people read it, with its unit: "1,024 bytes"; "none" where there is nothing.
std::string value_text(const ComparedValue& value, const std::string& unit);

}  // namespace hybridkv
