#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ask/start/run_log.h"

namespace hybridkv {

/// Takes the lines of a page in the text form of Prometheus, which may stand in a log or behind it: of a series that
/// comes again the later value counts.
class MetricsPage {
 public:
  /// A line; false where it is no sample of these metrics.
  bool add(std::string_view line, std::int64_t number, const RunTexts& texts);
  /// Puts what the page says into the log. What it counts since the start of the engine takes the place of what lines
  /// say of the same.
  void finish(RunLog& log) const;

 private:
  struct Sample {
    double value = 0;
    std::int64_t line = 0;
  };
  void join(RunLog& log, const RunPattern& metric) const;
  void join_prompts(RunLog& log) const;
  /// All samples of one name.
  template <class Visit>
  void each(std::string_view name, Visit visit) const;

  std::map<std::string, Sample, std::less<>> samples_;  ///< by name and labels, as they were printed
  const RunTexts* texts_ = nullptr;
  std::int64_t first_line_ = 0;
};

}  // namespace hybridkv
