#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engines/run_texts.h"

namespace hybridkv {

/// A value that an engine printed again and again as it served.
struct RunFigure {
  double last = 0;
  std::int64_t last_line = 0;  ///< of the log, from 1
  double largest = 0;
  std::int64_t largest_line = 0;
  bool is_sum = false;         ///< both are what all lines add up to
  bool operator==(const RunFigure&) const = default;
};

/// Finished requests by the length of their prompt, as a page has it.
struct PromptLengths {
  /// A bound in tokens, and how many prompts have at most so many; ascending, the last may be unbounded.
  struct Bucket {
    double at_most_tokens = 0;
    std::int64_t requests = 0;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets;
  std::int64_t requests = 0;
  double tokens = 0;
  std::int64_t line = 0;  ///< of the log, from 1: the number of requests
  bool operator==(const PromptLengths&) const = default;
};

/// What a log says of the time in which its engine served; of several starts that of the last.
struct RunLog {
  std::array<std::optional<RunFigure>, run_key_names.size()> figures;
  std::optional<PromptLengths> prompts;
  std::int64_t lines = 0;         ///< that had such values, those of a page not among them
  std::int64_t page_line = 0;     ///< the first of a page of metrics; 0: there is none
  bool is_of_several = false;     ///< values stand for several engines together
  const RunTexts* texts = nullptr;  ///< of the engine that printed them; null: there are none

  bool empty() const { return texts == nullptr; }
  const std::optional<RunFigure>& find(RunKey key) const { return figures[static_cast<std::size_t>(key)]; }
  std::optional<RunFigure>& find(RunKey key) { return figures[static_cast<std::size_t>(key)]; }
  /// The largest value; nothing where none was printed.
  std::optional<double> most(RunKey key) const;
  /// Percent of the prompt tokens that were looked up since the start; nothing where no page says it.
  std::optional<double> hit_rate_since_start() const;
};

/// Puts a value of a line into the log.
void keep_run_value(RunLog& log, const RunPattern& pattern, double value, std::int64_t line);

/// Reads a line that an engine prints as it serves; false where it is none.
bool read_run_line(RunLog& log, std::string_view line, std::int64_t number, const RunTexts& texts);

}  // namespace hybridkv
