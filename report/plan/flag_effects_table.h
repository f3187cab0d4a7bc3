#pragma once

#include "ask/flag_effects.h"
#include "report/table.h"

namespace hybridkv {

/// A row for the whole command and one for each of its flags: the key that it sets, and what is planned without it. For
/// programs the row of the whole has no flag, and a row that is not planned has the refusal.
Table flag_effects_table(const FlagEffects& effects);

}  // namespace hybridkv
