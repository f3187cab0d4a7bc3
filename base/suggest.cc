#include "base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hybridkv {

namespace {

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && lower(a) == lower(b);
}

bool contains_ignoring_case(std::string_view word, std::string_view part) {
  return lower(word).find(lower(part)) != std::string::npos;
}

std::size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = lower(first);
  const std::string b = lower(second);
  // Row i holds the distances of a[0, i) to every b[0, j); a swap looks back two rows.
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

std::vector<std::string> closest_words(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest_word = 100;
  constexpr std::size_t shortest_beginning = 3;
  constexpr std::size_t most_suggestions = 3;
  if (word.empty() || word.size() > longest_word) return {};
  std::vector<std::pair<std::size_t, std::string>> continued;
  std::vector<std::pair<std::size_t, std::string>> near;
  std::vector<std::pair<std::size_t, std::string>> holding;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (word.size() >= shortest_beginning && lower(candidate).starts_with(lower(word)))
      continued.emplace_back(distance, candidate);
    if (distance <= std::max<std::size_t>(1, word.size() / 3)) near.emplace_back(distance, candidate);
    if (word.size() >= shortest_beginning && contains_ignoring_case(candidate, word))
      holding.emplace_back(distance, candidate);
  }
  auto& chosen = !continued.empty() ? continued : !near.empty() ? near : holding;
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> words;
  for (const auto& [distance, candidate] : chosen)
    if (words.size() < most_suggestions) words.push_back(candidate);
  return words;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> near = closest_words(word, known);
  return near.empty() ? std::string() : fmt::format("; did you mean '{}'?", fmt::join(near, "' or '"));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string_view otherwise) {
  const std::string meant = did_you_mean(word, known);
  return meant.empty() ? fmt::format("; {} {}", otherwise, fmt::join(known, ", ")) : meant;
}

}  // namespace hybridkv
