#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// True for words that are equal but for upper and lower case.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// True where `part` stands somewhere in the word, but for upper and lower case. "" is in every word.
bool contains_ignoring_case(std::string_view word, std::string_view part);

/// Number of single-character edits (insert, delete, replace, swap of neighbours) between two words, in which
/// upper and lower case count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known words that a word may have meant, closest first, at most three: those that continue it, else those
/// within a third of its length in edits, else those that hold it. Ties keep the order of `known`.
std::vector<std::string> closest_words(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'a' or 'b'?" from closest_words; empty where there are none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// did_you_mean; where it is empty "; ", `otherwise` and the known words.
std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string_view otherwise);

}  // namespace hybridkv
