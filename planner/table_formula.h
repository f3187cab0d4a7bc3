#pragma once

#include <string>
#include <vector>

#include "planner/derivation.h"
#include "planner/table_rule.h"

namespace hybridkv {

/// A number of entries in symbols, and what the symbols stand for.
struct TableFormula {
  std::string entries;        ///< "ceil(L / block) + s"
  std::string why;            ///< what the entries are; may be empty
  std::vector<Term> inputs;   ///< of all symbols
  /// "ids = ceil(L / block) + s: a checkpoint at every boundary, mode all".
  std::string text() const;
};

/// table_entries in symbols: L, block, DCP, window, batch, s and c, as far as the rule asks for them.
TableFormula table_formula(const TableRule& rule, std::int64_t tokens);

/// The same of ids, of which an entry may take several or only a part (ids_of_entries).
TableFormula ids_formula(const TableRule& rule, const GroupPlan& group, std::int64_t tokens);

}  // namespace hybridkv
