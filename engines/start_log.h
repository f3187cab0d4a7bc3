#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/log_key.h"
#include "engines/run_texts.h"

namespace hybridkv {

enum class ValueForm {
  number,  ///< digits, perhaps with commas and a point
  word,    ///< up to a quote, a comma, a bracket or a space
  order,   ///< an order of the cache, anywhere in the line
  itself,  ///< the line says so by having the text
};

/// A text of a log line, the value behind it, and what has to follow that.
struct LogPattern {
  LogKey key;
  std::string_view before;
  ValueForm form = ValueForm::word;
  std::string_view after = {};
  std::string_view beside = {};  ///< somewhere in the line
  std::string_view value = {};   ///< of the form `itself`
};

/// What it means that a start prints a figure twice and differently.
enum class LogRepeat {
  contradicts,  ///< one of both is wrong
  first,        ///< the later one is of something else, such as a drafter
  last,         ///< the first was a trial
};

/// What an engine prints, whatever its release.
struct LogTexts {
  std::string_view engine;   ///< as people call it
  std::string_view command;  ///< one that prints such lines, for help
  std::string_view begin;    ///< in the line with which a start begins
  std::string_view samples;  ///< lines with figures, each in quotes
  std::span<const LogPattern> settings, figures;  ///< of several patterns for a setting the last one counts
  std::span<const std::string_view> block_overrides;  ///< texts before a number of blocks that is the user's
  LogRepeat repeat = LogRepeat::contradicts;
  std::string_view size_unit = {};  ///< of LogKey::conv_size and the other sizes: "GB"; empty: it prints none
  const RunTexts* run = nullptr;  ///< what it prints as it serves; null: that is not known
};

/// Major and minor number of a release.
using ReleaseNumber = std::pair<int, int>;

/// What the rules of an engine say of such a log.
struct EngineLog {
  const LogTexts* texts = nullptr;
  std::optional<ReleaseNumber> first, end;  ///< releases of that name whose rules these are, `end` not among them
  std::string_view assumed;                 ///< said where another release printed it
  std::span<const std::int64_t> grains;     ///< tokens of kernel blocks that the log does not say
  bool is_of(const ReleaseNumber& release) const { return !(first && release < *first) && !(end && release >= *end); }
};

/// The texts of all engines, each once.
std::vector<const LogTexts*> all_log_texts();

}  // namespace hybridkv
