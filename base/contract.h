#pragma once

#include "base/error.h"

// A library and whoever includes its headers are compiled with the same value: it is a definition of the build.
#ifndef HYBRIDKV_CONTRACTS
#define HYBRIDKV_CONTRACTS 0
#endif

namespace hybridkv {

/// Whether this build runs the contracts of inner loops: CMake's HYBRIDKV_CONTRACTS, presets `dev`, `relassert`.
inline constexpr bool runs_contracts = HYBRIDKV_CONTRACTS != 0;

/// What must hold inside of a room, where asking costs more than a release build should pay: once a block, a look-up or
/// an element. What a public function asks of its callers stays with `expects`, in every build.
/// `holds()` is called only in builds that run contracts, and must change nothing. Throws as `expects`.
template <class Holds>
constexpr void contract(Holds&& holds, const char* what) {
  if constexpr (runs_contracts) expects(holds(), what);
}

}  // namespace hybridkv
