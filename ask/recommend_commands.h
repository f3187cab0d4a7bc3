#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ask/recommend.h"
#include "scenarios/command_words.h"

namespace hybridkv {

/// The commands that plan a candidate, and replay the workload through it where it keeps anything to find again: they
/// say the candidate's numbers again. `asked`: how the question is typed; `scenario`: what that says; `candidate`: its
/// position. Every key of sections engine and simulate in which the candidate's own question differs is in the
/// commands, those that the scenario has and the candidate has not are taken back.
std::vector<std::string> candidate_commands(const CommandWords& asked, const Scenario& scenario,
                                            const RecommendAnswer& answer, std::size_t candidate);

/// Adds those of its picks to an answer to the scenario's question, `asked` as it is typed.
void add_commands(RecommendAnswer& answer, const Scenario& scenario, const CommandWords& asked);

}  // namespace hybridkv
