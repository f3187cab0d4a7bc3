#pragma once

#include <string>
#include <vector>

#include "report/recommend/search_reporter.h"

namespace hybridkv {

// What recommendations say alike of engines whose choices are all in the plan, and whose space is searched whole.

/// "exhaustive: 96 combinations planned, 90 differ, 2 cannot run; 90 replayed".
std::string whole_search_text(const Recommendation& result);
nlohmann::ordered_json whole_search_json(const Recommendation& result);
/// "1,946 made, 1,234 of them hit, 1,711 evicted"; adds nothing where no state was kept to be found.
void add_states_found(Facts& facts, const Candidate& pick);
/// Adds how many requests of the compared length the pick has at once against the default.
void add_at_once_reason(const RecommendAnswer& report, RecommendReasons& reasons);
/// "573.2 MiB of 32,768 tokens; 71.00 at once".
std::string held_requests_text(const Recommendation& result, const Candidate& pick);
/// States made, used and evicted.
std::vector<CandidateField> state_fields();
/// Bytes of a request, alone.
Cell request_bytes_cell(const CandidateRow& row);
/// Bytes of a request, and how many are held at once.
std::vector<CandidateField> held_fields();
/// The same on a front, behind what is found.
std::vector<CandidateField> front_of_held();

}  // namespace hybridkv
