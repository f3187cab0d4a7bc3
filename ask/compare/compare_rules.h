#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ask/plan_figures.h"
#include "planner/derivation.h"

namespace hybridkv {

/// What settings are compared by; nothing where a setting has no such thing.
using ComparedValue = FigureValue;

/// Are they of more than one value? Settings that are `refused` do not count.
bool values_differ(const std::vector<ComparedValue>& values, const std::vector<bool>& refused);

/// An input of a rule that is not the same in all settings.
struct ComparedInput {
  std::string symbol;  ///< "A"
  std::string unit;
  std::vector<ComparedValue> values;  ///< (setting)
  bool operator==(const ComparedInput&) const = default;
};

/// One decision side by side, as each setting took it.
struct ComparedRule {
  std::string symbol;  ///< of what is decided: "B"
  std::string unit;
  std::vector<ComparedValue> values;  ///< (setting) what came out
  std::vector<std::string> rules;     ///< (setting) Decision::rule; empty where there is no such decision
  std::vector<std::string> sources;   ///< (setting) Decision::source
  std::vector<ComparedInput> inputs;  ///< those that differ, in the order of the rule
  bool operator==(const ComparedRule&) const = default;
};

/// The derivation of one setting as far as it holds for one length; null members where the setting is refused.
struct ComparedDerivation {
  const Derivation* derivation = nullptr;
  std::int64_t tokens = 0;  ///< of several lengths the one that is compared

  /// The decision of that symbol; of those that are taken for every length that of `tokens`. Null where there is none.
  const Decision* find(const std::string& symbol) const;
  /// The decision that an input of another one comes from: of its symbol, as a rule writes it short, and its value.
  const Decision* origin(const Term& input) const;

 private:
  std::span<const Decision> of_length() const;
};

/// The decisions behind a row.
struct RowSymbols {
  std::vector<std::string> symbols;  ///< (setting) empty: there is none
  bool is_part = false;              ///< they come to other numbers, from which that of the row follows
};

/// The rules behind rows of a comparison.
class RowRules {
 public:
  /// Derivations must outlive this.
  RowRules(std::vector<ComparedDerivation> derivations, std::vector<RowSymbols> rows);

  /// What makes the values of a row different: its decision, then those that its differing inputs come from, up to the
  /// numbers that have a row of their own. What is decided alike in all settings is left out.
  std::vector<ComparedRule> of_row(std::size_t row) const;

 private:
  using Decisions = std::vector<const Decision*>;  // (setting) null: there is none
  class Chain;

  Decisions roots_of(std::size_t row) const;
  /// "block = B" says nothing; what is meant is how B came about. Stops before symbols in `stops`.
  Decisions meant_by(Decisions decisions, const std::vector<std::string>& stops) const;

  std::vector<ComparedDerivation> derivations_;
  std::vector<RowSymbols> rows_;
  std::vector<std::string> roots_;  // symbols of all rows that are no parts
  std::vector<std::string> meant_;  // the same, and what they mean
};

}  // namespace hybridkv
