#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/table.h"

namespace hybridkv {

/// What a part of a bar is.
struct BarKind {
  std::string tone;   ///< of its fill, the class "tone-NAME" of report/html.cc
  std::string title;  ///< for people
};

/// One bar of several parts.
struct Bar {
  std::string name;                 ///< whose bytes they are
  std::string title;                ///< above it: the name, and what is worth knowing
  std::vector<std::int64_t> bytes;  ///< by kind; >= 0
  std::int64_t total() const;
};

/// Bars to one scale, in bytes.
/// Invariant, checked by those that show them: every bar has one number per kind.
struct Bars {
  std::vector<BarKind> kinds;
  std::vector<Bar> bars;
  std::string caption;    ///< a sentence or two below them
};

/// The numbers of the bars, kinds downwards: of one bar with exact bytes and shares, of several only sizes.
Table bars_table(const Bars& bars);

}  // namespace hybridkv
