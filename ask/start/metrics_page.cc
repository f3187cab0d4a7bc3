#include "ask/start/metrics_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "scenarios/number.h"

namespace hybridkv {

namespace {

/// The name of a sample: what stands before its labels, or before its value.
std::string_view name_of_sample(std::string_view line) { return line.substr(0, line.find_first_of("{ ")); }

/// Where the labels of a sample end, behind the name where it has none: a quoted value may hold a brace.
std::size_t end_of_labels(std::string_view line) {
  const std::size_t name = name_of_sample(line).size();
  if (name == line.size() || line[name] != '{') return name;
  bool quoted = false;
  for (std::size_t at = name; at < line.size(); ++at) {
    if (line[at] == '\\') ++at;
    else if (line[at] == '"') quoted = !quoted;
    else if (line[at] == '}' && !quoted) return at + 1;
  }
  return std::string_view::npos;
}

/// The text of a label; empty where there is none.
std::string_view label(std::string_view series, std::string_view name) {
  for (std::size_t at = series.find(name); at != std::string_view::npos; at = series.find(name, at + 1)) {
    const std::string_view rest = series.substr(at + name.size());
    if (at == 0 || (series[at - 1] != '{' && series[at - 1] != ',') || !rest.starts_with("=\"")) continue;
    return rest.substr(2, rest.find('"', 2) - 2);
  }
  return {};
}

std::string named(std::string_view name, std::string_view end) { return std::string(name) + std::string(end); }

}  // namespace

bool MetricsPage::add(std::string_view line, std::int64_t number, const RunTexts& texts) {
  const std::string_view name = name_of_sample(line);
  const bool is_metric = std::any_of(texts.metrics.begin(), texts.metrics.end(),
                                     [&](const RunPattern& metric) { return metric.before == name; });
  const bool is_prompts = !texts.prompt_lengths.empty() && name.starts_with(texts.prompt_lengths);
  if (!is_metric && !is_prompts) return false;
  const std::size_t end = end_of_labels(line);
  if (end == std::string_view::npos) return false;
  std::string_view value = line.substr(end);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  const ParsedReal parsed = parse_real(value.substr(0, value.find_first_of(" \t")));
  if (!parsed.problem.empty()) return false;
  constexpr std::size_t most_series = 100'000;  // a page has some thousands
  if (samples_.size() >= most_series) return false;
  samples_[std::string(line.substr(0, end))] = {parsed.value, number};
  texts_ = &texts;
  if (first_line_ == 0) first_line_ = number;
  return true;
}

template <class Visit>
void MetricsPage::each(std::string_view name, Visit visit) const {
  for (auto at = samples_.lower_bound(name); at != samples_.end() && at->first.starts_with(name); ++at)
    if (name_of_sample(at->first) == name) visit(at->first, at->second);
}

void MetricsPage::join(RunLog& log, const RunPattern& metric) const {
  std::optional<Sample> all;
  each(metric.before, [&](const std::string&, const Sample& sample) {
    if (!all) all = Sample{0, sample.line};
    all->value = metric.join == RunJoin::count ? all->value + sample.value : std::max(all->value, sample.value);
    all->line = std::min(all->line, sample.line);
  });
  if (!all) return;
  if (metric.key == RunKey::preemptions) log.find(metric.key).reset();  // lines have those of their log alone
  keep_run_value(log, metric, all->value * metric.factor, all->line);
}

void MetricsPage::join_prompts(RunLog& log) const {
  if (texts_->prompt_lengths.empty()) return;
  PromptLengths prompts;
  std::map<double, std::int64_t> buckets;
  each(named(texts_->prompt_lengths, "_bucket"), [&](const std::string& series, const Sample& sample) {
    const std::string_view bound = label(series, "le");
    const ParsedReal tokens = parse_real(bound);
    const bool is_open = bound == "+Inf";
    if (is_open || tokens.problem.empty())
      buckets[is_open ? std::numeric_limits<double>::infinity() : tokens.value] += std::llround(sample.value);
  });
  for (const auto& [bound, requests] : buckets) prompts.buckets.push_back({bound, requests});
  each(named(texts_->prompt_lengths, "_sum"),
       [&](const std::string&, const Sample& sample) { prompts.tokens += sample.value; });
  each(named(texts_->prompt_lengths, "_count"), [&](const std::string&, const Sample& sample) {
    prompts.requests += std::llround(sample.value);
    prompts.line = sample.line;
  });
  if (prompts.requests > 0) log.prompts = std::move(prompts);
}

void MetricsPage::finish(RunLog& log) const {
  if (texts_ == nullptr) return;
  log.texts = texts_;
  log.page_line = first_line_;
  std::set<std::string_view> engines;
  for (const auto& [series, sample] : samples_) engines.insert(label(series, "engine"));
  if (engines.size() > 1) log.is_of_several = true;
  for (const RunPattern& metric : texts_->metrics) join(log, metric);
  join_prompts(log);
}

}  // namespace hybridkv
