#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/add_once.h"
#include "planner/derivation.h"

namespace hybridkv {

/// A sum as a rule and its inputs: "groups 0 * ids 0 + groups 1 * ids 1".
class SumRule {
 public:
  /// A summand in the symbols of its inputs.
  void add(const std::string& summand, std::vector<Term> inputs) {
    text_ += (text_.empty() ? "" : " + ") + summand;
    for (Term& input : inputs)
      add_once(inputs_, std::move(input));
  }
  /// "0" where nothing was added.
  std::string text() const { return text_.empty() ? "0" : text_; }
  const std::vector<Term>& inputs() const { return inputs_; }

 private:
  std::string text_;
  std::vector<Term> inputs_;
};

}  // namespace hybridkv
