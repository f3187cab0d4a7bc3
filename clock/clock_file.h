#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "clock/clock_fit.h"
#include "clock/coefficients.h"

namespace hybridkv {

/// The coefficients of an engine or of one deployment, with what is known of them: a file that every command with a
/// clock takes.
struct ClockFile {
  std::string engine;             ///< "vllm"; of one deployment too
  std::string basis;              ///< what they were found from, a sentence without a full stop
  Coefficients coefficients;
  ClockError fitted;              ///< on the runs that they were fitted to
  std::optional<ClockError> apart;  ///< on runs that they were not fitted to
  bool operator==(const ClockFile&) const = default;

  /// The error that a figure made with it carries: apart from its runs, where that is known.
  const ClockError& error() const { return apart ? *apart : fitted; }
};

/// JSON, two spaces deep, ending in a line feed.
std::string clock_text(const ClockFile& clock);
/// Reads it back. `name` is what messages call the file. Throws InputError for what is none, with the key.
ClockFile parse_clock(std::string_view text, const std::string& name);

}  // namespace hybridkv
