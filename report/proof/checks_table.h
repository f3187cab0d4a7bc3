#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "ask/verify.h"
#include "report/table.h"

namespace hybridkv {

/// What became of a check, for people: a failure in capitals.
std::string_view status_text(CheckStatus status);
/// The same for csv and json.
std::string_view status_word(CheckStatus status);

/// A row per check: what it looked at, and of numeric ones the largest error beside what is allowed.
Table checks_table(std::span<const CheckResult> checks);

/// All fields of a check.
nlohmann::ordered_json check_json(const CheckResult& check);

}  // namespace hybridkv
