#pragma once

#include <string_view>

#include "clock/step_shape.h"

namespace hybridkv {

/// Reads a step as people write it, and as shape_name does: "64 x decode behind 8k + prompt 2048 behind 10k found".
/// Parts are joined by + or a comma; "decode 4" verifies three drafts beside its token; numbers of tokens may have a
/// unit (parse_tokens). Throws InputError with the part that is none, and how one is written.
StepShape read_step(std::string_view text);

}  // namespace hybridkv
