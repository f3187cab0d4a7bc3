#include "report/plan/warning_summary.h"

#include <algorithm>
#include <utility>

#include "base/digit.h"

namespace hybridkv {

namespace {

/// A message with its numbers taken out: `texts` has one more entry than `numbers`, they alternate.
struct Parts {
  std::vector<std::string> texts{""};
  std::vector<std::string> numbers;
};

Parts split_numbers(const std::string& message) {
  Parts parts;
  for (std::size_t i = 0; i < message.size();) {
    if (!is_digit(message[i])) {
      parts.texts.back() += message[i++];
      continue;
    }
    std::size_t end = i + 1;
    const auto goes_on = [&](std::size_t at) {
      if (is_digit(message[at])) return true;
      return (message[at] == ',' || message[at] == '.') && at + 1 < message.size() && is_digit(message[at + 1]);
    };
    while (end < message.size() && goes_on(end)) ++end;
    parts.numbers.push_back(message.substr(i, end - i));
    parts.texts.emplace_back();
    i = end;
  }
  return parts;
}

/// Messages of one code that differ in nothing but numbers, and the plans they are of.
struct Alike {
  std::string code;
  std::vector<Parts> messages;
  std::vector<std::int64_t> packs;

  bool differ_at(std::size_t place) const {
    return std::any_of(messages.begin(), messages.end(), [&](const Parts& parts) {
      return parts.numbers[place] != messages.front().numbers[place];
    });
  }

  /// The numbers at one place: one where all are equal.
  std::string side_by_side(std::size_t place) const {
    std::string text = messages.front().numbers[place];
    if (!differ_at(place)) return text;
    for (std::size_t i = 1; i < messages.size(); ++i) text += " / " + messages[i].numbers[place];
    return text;
  }
};

/// The message with the numbers of all plans, or that of the first where there would be too many to be read.
WarningSummary summary_of(const Alike& alike) {
  constexpr std::size_t most_numbers = 12;
  const Parts& first = alike.messages.front();
  std::size_t differing = 0;
  for (std::size_t place = 0; place < first.numbers.size(); ++place) differing += alike.differ_at(place) ? 1 : 0;
  const bool in_one = differing * alike.messages.size() <= most_numbers;
  std::string text = first.texts.front();
  for (std::size_t place = 0; place < first.numbers.size(); ++place)
    text += (in_one ? alike.side_by_side(place) : first.numbers[place]) + first.texts[place + 1];
  if (in_one) return {alike.code, std::move(text), alike.packs, {}};
  return {alike.code, std::move(text), {alike.packs.front()}, {alike.packs.begin() + 1, alike.packs.end()}};
}

}  // namespace

std::vector<WarningSummary> summarised_warnings(const PlanSet& set) {
  std::vector<Alike> found;
  for (const CachePlan& plan : set.plans)
    for (const Warning& warning : plan.warnings) {
      Parts parts = split_numbers(warning.message);
      auto alike = std::find_if(found.begin(), found.end(), [&](const Alike& other) {
        return other.code == warning.code && other.messages.front().texts == parts.texts &&
               other.packs.back() != plan.attention_pack_size;
      });
      if (alike == found.end()) alike = found.insert(found.end(), {warning.code, {}, {}});
      alike->messages.push_back(std::move(parts));
      alike->packs.push_back(plan.attention_pack_size);
    }
  std::vector<WarningSummary> summaries;
  for (const Alike& alike : found) summaries.push_back(summary_of(alike));
  return summaries;
}

}  // namespace hybridkv
