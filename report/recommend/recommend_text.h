#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/recommend.h"
#include "report/document.h"

namespace hybridkv {

/// What reports of every search say alike.

/// The question: rules, memory, workload, driver, and the requests that are compared.
Facts asked_facts(const RecommendAnswer& answer);

/// What of a candidate is computed again against another one, and how much of the prompts hits.
std::string tokens_against(const Candidate& candidate, const Candidate& other,
                           const WorkloadFacts& workload);

/// Bytes and concurrency of a candidate against those of another one, for requests of so many tokens.
std::string memory_against(const Candidate& candidate, const Candidate& other, std::int64_t tokens);

/// What is better in one than in the other, and what is worse, sentences without a full stop.
void compare_candidates(const Candidate& candidate, const Candidate& other, const Recommendation& result,
                        std::vector<std::string>& gains, std::vector<std::string>& costs);

/// "95.70 % of the prompt tokens hit, 299 are computed again"; with a bound "; 96.10 % are possible in this memory, and
/// no policy passes 96.50 %".
std::string prefix_text(const Candidate& pick, const std::optional<LayoutBound>& bound);

/// How the pick is chosen. `reference` is whose concurrency it is held to, in words, where that is not the default.
std::vector<std::string> choice_sentences(const RecommendAnswer& answer, const std::string& reference);

/// What becomes of the pick under an assumption; `settings` are those of the other pick.
std::string what_if_sentence(const WhatIf& what_if, const Recommendation& result, const std::string& settings);

/// Positions of the front to show, ascending in re-prefilled tokens: so many that a page holds them, pick and default
/// among them.
std::vector<std::size_t> shown_of_front(const Recommendation& result);

/// What stands beside a candidate of the front: that it is the pick, the default.
std::string front_note(const Recommendation& result, std::size_t candidate);
/// The same of a default that is not on the front.
std::string beaten_note(const Candidate& of_default);
/// The sentences under the front. `at_once` says which requests are counted.
std::string front_sentences(const Recommendation& result, const Candidate* beaten_default, std::size_t shown,
                            const std::string& at_once);

/// A heading and its sentences; nothing where there are none.
void add_listing(Document& document, const char* title, const std::vector<std::string>& items, bool warning = false);

/// What an engine is told: scenario keys, values and its flags; then its command line, and what that does not say.
void add_served(Document& document, const ServedPick& pick);

/// How the engine is started with a store beyond the memory that was planned; nothing where none is known.
void add_recipes(Document& document, const std::vector<ServeRecipe>& recipes);

}  // namespace hybridkv
