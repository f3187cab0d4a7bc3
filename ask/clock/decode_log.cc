#include "ask/clock/decode_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ask/start/run_log.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/line_reader.h"
#include "base/quantile.h"

namespace hybridkv {

namespace {

/// What a line says of the interval before it.
struct LoggedInterval {
  std::int64_t running = 0;
  double tokens_per_second = 0;
  double usage = 0;  ///< share of the tokens of the cache
  bool has_prompts = false;
};

std::optional<LoggedInterval> interval_in(std::string_view line, const RunTexts& texts) {
  RunLog log;
  if (!read_run_line(log, line, 1, texts)) return std::nullopt;
  const auto value = [&](RunKey key) { return log.most(key).value_or(0); };
  return LoggedInterval{.running = std::llround(std::clamp(value(RunKey::running), 0.0, 1e9)),
                        .tokens_per_second = value(RunKey::generation_rate),
                        .usage = value(RunKey::kv_usage) / 100,
                        .has_prompts = value(RunKey::prompt_rate) > 0 || value(RunKey::queried_tokens) > 0};
}

/// Steps of one kind.
struct LoggedSteps {
  std::vector<double> contexts, seconds;
};

}  // namespace

std::vector<MeasuredShape> read_decode_log(const std::string& file, const RunTexts& texts, const LoopRules& rules) {
  // Contexts within a factor of the square root of two are about alike.
  constexpr double kinds_an_octave = 2;
  std::map<std::pair<std::int64_t, std::int64_t>, LoggedSteps> kinds;
  LineReader lines(open_bytes(file));
  LoggedInterval before;
  while (const auto line = lines.next()) {
    const std::optional<LoggedInterval> found = interval_in(*line, texts);
    if (!found) continue;
    const LoggedInterval now = *found;
    const bool steady = now.running > 0 && now.running == before.running && !now.has_prompts && !before.has_prompts;
    before = now;
    if (!steady || !(now.tokens_per_second > 0) || !(now.usage > 0)) continue;
    const auto running = static_cast<double>(now.running);
    const double context = std::max(1.0, now.usage * rules.cache_tokens / running - rules.request_tokens);
    const auto kind = static_cast<std::int64_t>(kinds_an_octave * std::log2(context));
    LoggedSteps& steps = kinds[{now.running, kind}];
    steps.contexts.push_back(context);
    steps.seconds.push_back(running * rules.drafts.tokens_of_step() / now.tokens_per_second);
  }
  if (kinds.empty())
    throw InputError(fmt::format(
        "{}: no two lines in a row have as many running, no prompts, tokens generated a second and a usage of the "
        "cache: let as many requests as you serve generate for a minute, and give the log of that",
        input_name(file)));
  std::vector<MeasuredShape> measured;
  for (const auto& [key, steps] : kinds) {
    const std::vector<ShapePart> parts{{.query = rules.drafts.rows(),
                                        .context = std::llround(quantile(steps.contexts, 0.5)),
                                        .drafts = rules.drafts.tokens,
                                        .count = key.first}};
    measured.push_back({.shape = {shape_name(parts), parts}, .seconds = quantile(steps.seconds, 0.5)});
  }
  return measured;
}

}  // namespace hybridkv
