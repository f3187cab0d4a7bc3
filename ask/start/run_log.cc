#include "ask/start/run_log.h"

#include <algorithm>
#include <string>

#include "ask/start/log_text.h"
#include "scenarios/number.h"

namespace hybridkv {

std::optional<double> RunLog::most(RunKey key) const {
  const auto& figure = find(key);
  return figure ? std::optional(figure->largest) : std::nullopt;
}

std::optional<double> RunLog::hit_rate_since_start() const {
  const auto& hits = find(RunKey::hit_tokens);
  const auto& queried = find(RunKey::queried_tokens);
  if (!hits || !queried || queried->last <= 0) return std::nullopt;
  constexpr double percent = 100;
  return percent * hits->last / queried->last;
}

void keep_run_value(RunLog& log, const RunPattern& pattern, double value, std::int64_t line) {
  std::optional<RunFigure>& kept = log.find(pattern.key);
  if (!kept) {
    kept = RunFigure{value, line, value, line, pattern.join == RunJoin::addends};
    return;
  }
  kept->last = kept->is_sum ? kept->last + value : value;
  kept->last_line = line;
  if (kept->last < kept->largest) return;
  kept->largest = kept->last;
  kept->largest_line = line;
}

bool read_run_line(RunLog& log, std::string_view line, std::int64_t number, const RunTexts& texts) {
  if (std::none_of(texts.lines.begin(), texts.lines.end(),
                   [&](std::string_view text) { return line.find(text) != std::string_view::npos; }))
    return false;
  bool has_value = false;
  for (const RunPattern& pattern : texts.values) {
    const std::size_t at = line.find(pattern.before);
    if (at == std::string_view::npos) continue;
    std::string_view rest;
    const ParsedReal value = parse_real(take_number(line.substr(at + pattern.before.size()), rest));
    if (!value.problem.empty()) continue;
    keep_run_value(log, pattern, value.value * pattern.factor, number);
    has_value = true;
  }
  if (!has_value) return false;
  ++log.lines;
  log.texts = &texts;
  if (!texts.several.empty() && line.find(texts.several) != std::string_view::npos) log.is_of_several = true;
  return true;
}

}  // namespace hybridkv
