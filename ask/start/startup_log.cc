#include "ask/start/startup_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "ask/start/log_text.h"
#include "attention/cache_order.h"
#include "base/byte_source.h"
#include "base/printable.h"
#include "planner/engine_spec.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

/// Longest part of a line that is looked at: the configuration that engines print in one line has some 10,000 bytes.
constexpr std::size_t most_line_bytes = std::size_t{1} << 17;

std::string take_word(std::string_view text, std::string_view& rest) {
  std::size_t end = std::min(text.find_first_of("'\", )]}\t"), text.size());
  rest = text.substr(end);
  while (text.substr(0, end).ends_with('.')) --end;
  constexpr std::size_t longest = 300;
  return end > longest ? std::string() : printable(text.substr(0, end));
}

/// The order of the cache that the line names last in the list of them; empty where it names none.
std::string order_in(std::string_view line) {
  std::string named;
  for (const CacheOrder order : all_cache_orders)
    if (line.find(to_string(order)) != std::string_view::npos) named = to_string(order);
  return named;
}

/// Calls found(value) for each value that the pattern has in the line.
template <class Found>
void match(std::string_view line, const LogPattern& pattern, Found found) {
  if (line.find(pattern.beside) == std::string_view::npos) return;
  for (std::size_t at = line.find(pattern.before); at != std::string_view::npos;) {
    std::string_view rest = line.substr(at + pattern.before.size());
    std::string value;
    switch (pattern.form) {
      case ValueForm::number:
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        value = take_number(rest, rest);
        break;
      case ValueForm::word: value = take_word(rest, rest); break;
      case ValueForm::order: value = order_in(line); break;
      case ValueForm::itself: value = pattern.value; break;
    }
    if (!value.empty() && value != "None" && rest.starts_with(pattern.after)) found(std::move(value));
    at = line.find(pattern.before, at + pattern.before.size());
  }
}

bool is_figure(LogKey key) { return std::find(log_figures.begin(), log_figures.end(), key) != log_figures.end(); }

}  // namespace

std::optional<std::int64_t> StartupLog::whole(LogKey key) const {
  const std::optional<LogValue>& value = find(key);
  if (!value) return std::nullopt;
  const ParsedNumber number = parse_integer(value->text);
  return number.problem.empty() ? std::optional(number.value) : std::nullopt;
}

bool StartupLog::has_figure() const {
  return std::any_of(log_figures.begin(), log_figures.end(), [&](LogKey key) { return find(key).has_value(); });
}

/// What one start says of itself alone is that of the last one.
void StartupLogReader::begin() {
  ++start_;
  log_.run = {};
  for (const LogKey key : {LogKey::failure, LogKey::free_gib, LogKey::total_gib, LogKey::wanted_gib,
                           LogKey::checked_gib, LogKey::needed_gib, LogKey::estimated_length, LogKey::state_blocks})
    log_.find(key).reset();
}

void StartupLogReader::keep(LogKey key, std::string text, LogRepeat repeat) {
  std::optional<LogValue>& kept = log_.find(key);
  std::int64_t& start = start_of_[static_cast<std::size_t>(key)];
  if (kept && start == start_ && kept->text != text) {
    if (key == LogKey::memory_gib) {  // ranks print their own, and the smallest decides for all
      if (std::stod(text) >= std::stod(kept->text)) return;
    } else if (is_figure(key) && repeat == LogRepeat::first) {
      return;
    } else if (is_figure(key) && repeat == LogRepeat::contradicts) {
      log_.disagreements.push_back(fmt::format("{} is {} in line {} and {} in line {}", to_string(key), kept->text,
                                               kept->line, text, log_.lines));
    } else if (key == LogKey::max_model_len || key == LogKey::version || key == LogKey::model) {
      return;  // a draft model behind it has its own
    } else if (text == "auto") {
      return;  // what it stands for was said
    }
  }
  start = start_;
  kept = LogValue{std::move(text), log_.lines};
}

void StartupLogReader::read(std::string_view line, const LogTexts& texts) {
  if (line.find(texts.begin) != std::string_view::npos) begin();
  if (texts.run && !read_run_line(log_.run, line, log_.lines, *texts.run)) page_.add(line, log_.lines, *texts.run);
  for (const LogPattern& pattern : texts.settings)
    match(line, pattern, [&](std::string value) {
      if (pattern.key == LogKey::model &&
          std::find(log_.models.begin(), log_.models.end(), value) == log_.models.end())
        log_.models.push_back(value);
      if (pattern.key == LogKey::failure) log_.printed_by = &texts;
      keep(pattern.key, std::move(value), texts.repeat);
    });
  for (const LogPattern& pattern : texts.figures)
    match(line, pattern, [&](std::string value) {
      log_.printed_by = &texts;
      keep(pattern.key, std::move(value), texts.repeat);
    });
  for (const std::string_view name : texts.block_overrides)
    match(line, {LogKey::num_blocks, name, ValueForm::number}, [&](std::string value) {
      log_.blocks_overridden = true;
      log_.find(LogKey::num_blocks) = LogValue{std::move(value), log_.lines};
    });
}

void StartupLogReader::add(std::string_view line, std::int64_t number) {
  log_.lines = number;
  const std::string plain = without_colours(line.substr(0, most_line_bytes));
  for (const LogTexts* const texts : texts_) read(plain, *texts);
}

/// A page of metrics has both capacities, in full digits, and not the length that they are for.
void StartupLogReader::derive_length() {
  const auto& tokens = log_.find(LogKey::kv_cache_tokens);
  const auto& ratio = log_.find(LogKey::concurrency);
  if (!tokens || !ratio || log_.find(LogKey::concurrency_length) || log_.find(LogKey::max_model_len)) return;
  // tokens = floor(ratio * length)
  constexpr double rounding = 1e-9;
  const double length = std::stod(tokens->text) / std::max(1e-6, std::stod(ratio->text));
  if (length < 1 || length > static_cast<double>(largest_tokens)) return;
  log_.find(LogKey::concurrency_length) =
      LogValue{std::to_string(static_cast<std::int64_t>(std::ceil(length * (1 - rounding)))), ratio->line};
}

StartupLog StartupLogReader::finish() {
  page_.finish(log_.run);
  if (log_.run.page_line > 0) derive_length();
  return std::move(log_);
}

StartupLog read_startup_log(const std::string& path) {
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  StartupLogReader reader;
  std::int64_t bytes = 0, number = 1;
  std::string line;
  bool too_long = false;  // the rest of a line whose beginning was taken
  std::vector<char> piece(std::size_t{1} << 17);
  const auto end_line = [&] {
    if (!too_long && !line.empty()) reader.add(line, number);
    line.clear();
    too_long = false;
  };
  while (const std::size_t count = source->read(piece.data(), piece.size())) {
    bytes += static_cast<std::int64_t>(count);
    std::string_view rest(piece.data(), count);
    while (!rest.empty()) {
      const std::size_t end = rest.find_first_of("\r\n");
      if (!too_long) line += rest.substr(0, end);
      if (line.size() > most_line_bytes && !too_long) {
        reader.add(line, number);
        line.clear();
        too_long = true;
      }
      if (end == std::string_view::npos) break;
      end_line();  // a carriage return alone ends no line that anybody counts: progress bars have it
      if (rest[end] == '\n') ++number;
      rest.remove_prefix(end + 1);
    }
  }
  end_line();
  StartupLog log = reader.finish();
  log.bytes = bytes;
  return log;
}

}  // namespace hybridkv
