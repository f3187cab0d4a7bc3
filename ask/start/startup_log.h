#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/start/metrics_page.h"
#include "ask/start/run_log.h"
#include "engines/start_log.h"

namespace hybridkv {

/// One value as it was printed.
struct LogValue {
  std::string text;       ///< digits without separators, or a word
  std::int64_t line = 0;  ///< of the log, from 1
  bool operator==(const LogValue&) const = default;
};

/// What was found in a log; of a value that several starts printed that of the last one.
struct StartupLog {
  std::array<std::optional<LogValue>, log_key_names.size()> values;
  std::vector<std::string> models;         ///< every name of a model, in the order of the log, each once
  bool blocks_overridden = false;          ///< the number of blocks is the user's: memory says nothing of it
  std::vector<std::string> disagreements;  ///< figures that one start printed twice and differently, a sentence each
  const LogTexts* printed_by = nullptr;    ///< the engine whose figures or failure it has; null: none
  RunLog run;                              ///< what it says of the time in which the engine served
  std::int64_t lines = 0;                  ///< number of the last line that was not empty
  std::int64_t bytes = 0;

  const std::optional<LogValue>& find(LogKey key) const { return values[static_cast<std::size_t>(key)]; }
  std::optional<LogValue>& find(LogKey key) { return values[static_cast<std::size_t>(key)]; }
  /// The value as a whole number; nothing where it was not found.
  std::optional<std::int64_t> whole(LogKey key) const;
  /// Is there a number that rules have to explain?
  bool has_figure() const;
  /// Does its engine print sizes of pools and no number of blocks? Settings then say how large the cache is.
  bool is_of_pools() const { return printed_by != nullptr && !printed_by->size_unit.empty(); }
};

/// Takes a log line by line, whatever stands around the lines: time stamps, colours, names of processes. It knows the
/// lines of every engine that says what it prints.
class StartupLogReader {
 public:
  /// A line, or the first part of a very long one; `number`: in the log, from 1.
  void add(std::string_view line, std::int64_t number);
  /// To be called once, after the last line.
  StartupLog finish();

 private:
  void read(std::string_view line, const LogTexts& texts);
  void derive_length();
  void keep(LogKey key, std::string text, LogRepeat repeat);
  void begin();

  StartupLog log_;
  const std::vector<const LogTexts*> texts_ = all_log_texts();
  std::array<std::int64_t, log_key_names.size()> start_of_{};  // the start in which a value was printed
  std::int64_t start_ = 0;
  MetricsPage page_;
};

/// Reads a log from a file, plain or compressed, or from standard input ("-"). Throws InputError where it cannot
/// be read.
StartupLog read_startup_log(const std::string& path);

}  // namespace hybridkv
