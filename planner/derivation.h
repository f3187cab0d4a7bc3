#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planner/engine_rules.h"

namespace hybridkv {

/// A number or word of a derivation, with the symbol the rules use for it.
struct Term {
  std::string symbol;                                   ///< "M", "a1", "B", "groups of spec 0"
  std::variant<std::int64_t, double, std::string> value;
  std::string unit;                                     ///< "bytes", "tokens", "blocks", … or empty
  bool operator==(const Term&) const = default;
};

/// Why one number of a plan is what it is: the rule, what went in, what came out, who says so.
struct Decision {
  Term result;
  std::string rule;          ///< the formula in the symbols of the inputs, "B = A * ceil(M / (A * N * a1))"
  std::vector<Term> inputs;
  std::string source;        ///< as the engine cites the rule (planner/rule_of.h), or the key that sets the number
  bool operator==(const Decision&) const = default;
};

/// The rule with the inputs in place of their symbols, ready for a calculator:
/// "B = 16 * ceil(2134016 / (16 * 5 * 1024))". Nothing where the rule is no formula of its inputs alone (a condition in
/// words, a symbol that is no input).
std::optional<std::string> substituted_rule(const Decision& decision);

/// The decisions of a plan in the order they were taken.
using Derivation = std::vector<Decision>;

/// Where the steps of planning write down their decisions, and whose rules they cite: a derivation, or nowhere. Nobody
/// reads the derivations of a hundred thousand points of a sweep, and making their words takes longer than the planning
/// itself.
class DerivationLog {
 public:
  /// A log that drops every decision.
  DerivationLog() = default;
  /// A log that appends to this derivation. The derivation and the rules must outlive the log.
  DerivationLog(Derivation& derivation, const EngineRules& rules) : derivation_(&derivation), rules_(&rules) {}

  /// Writes down what `decision()` returns; it is not called where nobody reads.
  template <class MakeDecision>
  void add(MakeDecision decision) const {
    if (derivation_ != nullptr) derivation_->push_back(decision());
  }

  /// What these rules give as the source of a decision. Pre: the log keeps decisions, as it does wherever `decision()`
  /// is called.
  std::string cite(RuleOf rule) const { return cited(*rules_, rule); }

 private:
  Derivation* derivation_ = nullptr;
  const EngineRules* rules_ = nullptr;
};

}  // namespace hybridkv
