#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/field.h"
#include "report/recommend/recommend_report.h"

namespace hybridkv {

/// A candidate of a recommendation, of which its tables have a row.
struct CandidateRow {
  const RecommendAnswer& report;
  std::size_t at;  ///< position in Recommendation::candidates

  const Recommendation& result() const { return report.result; }
  const Candidate& candidate() const { return result().candidates[at]; }
  const PlannedLayout& layout() const { return result().layout_of(at); }
};

using CandidateField = Field<CandidateRow>;

/// What a recommendation says that depends on how its engine finds prefixes.
struct SearchReporter {
  /// The space searched, and how much of it was.
  void (*add_space)(Facts& facts, const RecommendAnswer& report);
  /// A candidate as the pick is shown; `prefix` says what it finds.
  Facts (*pick)(const Recommendation& result, const Candidate& pick, const std::string& prefix);
  /// A candidate's settings in a sentence.
  std::string (*settings)(const RecommendAnswer& report, const Candidate& candidate);
  /// Adds what speaks for and against the pick that other engines have not.
  void (*add_reasons)(const RecommendAnswer& report, RecommendReasons& reasons);
  /// Adds what stands below the front; null: nothing.
  void (*add_beside)(Document& document, const RecommendAnswer& report, const RecommendReasons& reasons);
  /// Settings and numbers of candidates on the front.
  std::vector<CandidateField> (*front)(const Recommendation& result);
  /// Every setting and number of a candidate.
  std::vector<CandidateField> (*candidates)();
  nlohmann::ordered_json (*search)(const Recommendation& result);  ///< how much was searched
  const char* at_once;     ///< which requests are counted
  const char* reference;   ///< whose concurrency a pick is held to where the default keeps no states
  const char* impossible;  ///< what cannot run, in the heading
  const char* combination; ///< one of those
};
extern const SearchReporter block_search_reporter;  ///< pools of blocks: recommend_blocks.cc
extern const SearchReporter tree_search_reporter;   ///< a dual pool with a radix tree: recommend_tree.cc

extern const SearchReporter slot_search_reporter;   ///< a server with slots: recommend_slots.cc
extern const SearchReporter snapshot_search_reporter;  ///< a tree with snapshots: recommend_snapshots.cc

/// The reporter of the engine's index.
const SearchReporter& reporter_of(const Recommendation& result);

// Fields and cells that every index has, in the order of candidates_table.

/// Hits and what is computed again.
std::vector<CandidateField> found_fields();
/// Where a candidate stands among the others.
std::vector<CandidateField> choice_fields();
std::vector<CandidateField> joined(std::vector<std::vector<CandidateField>> parts);

template <auto Member>
CandidateField of_candidate(Column column) {
  return {std::move(column), [](const CandidateRow& row) { return Cell(row.candidate().*Member); }};
}
Cell reprefilled_cell(const CandidateRow& row);
Cell hit_percent_cell(const CandidateRow& row);
Cell request_cell(const CandidateRow& row);

/// "align, none".
template <class Value>
std::string names_text(const std::vector<Value>& values) {
  std::string text;
  for (const Value value : values) text += (text.empty() ? "" : ", ") + std::string(to_string(value));
  return text;
}

}  // namespace hybridkv
