#pragma once

#include <cstdint>

#include "measure/arithmetic.h"

namespace hybridkv {

/// Whether this machine can compute so here and now.
bool is_available(Arithmetic arithmetic);

/// Most multiplications and additions a second of so many threads together: those of loops that touch no memory, the
/// best of several rounds of about half a millisecond. A kernel of these instructions that is faster shows that this
/// is measured wrongly. Pre: is_available(arithmetic), threads >= 1.
double peak_flops_per_second(Arithmetic arithmetic, std::int64_t threads);

}  // namespace hybridkv
