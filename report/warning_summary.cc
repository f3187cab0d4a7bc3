#include "report/warning_summary.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace hybridkv {

namespace {

/// A message with its numbers taken out: `texts` has one more entry than `numbers`, they alternate.
struct Parts {
  std::vector<std::string> texts{""};
  std::vector<std::string> numbers;
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

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

/// What stands at one place of alike messages: the number, or all of them.
std::string side_by_side(const std::vector<std::string>& numbers) {
  if (std::set<std::string>(numbers.begin(), numbers.end()).size() == 1) return numbers.front();
  constexpr std::size_t most_in_full = 6, shown_of_more = 3;
  const bool all = numbers.size() <= most_in_full;
  std::string text;
  for (std::size_t i = 0; i < (all ? numbers.size() : shown_of_more); ++i) text += (i == 0 ? "" : " / ") + numbers[i];
  return all ? text : text + " / … / " + numbers.back();
}

}  // namespace

std::vector<WarningSummary> summarised_warnings(const PlanSet& set) {
  struct Alike {
    std::string code;
    std::vector<Parts> messages;
    std::vector<std::int64_t> packs;
  };
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
  for (const Alike& alike : found) {
    const Parts& first = alike.messages.front();
    std::string text = first.texts.front();
    for (std::size_t i = 0; i < first.numbers.size(); ++i) {
      std::vector<std::string> numbers;
      for (const Parts& parts : alike.messages) numbers.push_back(parts.numbers[i]);
      text += side_by_side(numbers) + first.texts[i + 1];
    }
    summaries.push_back({std::move(text), alike.packs});
  }
  return summaries;
}

}  // namespace hybridkv
