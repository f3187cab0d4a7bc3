#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>

#include "cli/progress.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// Shows on the line, which it borrows, how far a replay is.
inline std::function<void(const SweepProgress&)> shown_in(Progress& progress, std::string_view what) {
  return [&progress, what](const SweepProgress& at) {
    progress.update(what, fmt::format("per cent of the trace, {} requests, {:.0f} a second", at.requests,
                                      at.requests_per_second()),
                    static_cast<int>(100 * at.fraction), 100);
  };
}

}  // namespace hybridkv
