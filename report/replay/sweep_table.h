#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/replay/sweep_row.h"

namespace hybridkv {

/// How the rows of a sweep are shown to people.
struct SweepView {
  std::vector<std::string> columns;  ///< of the rows, behind the axes; empty: block, request, at once, hit rate
  std::string pivot;                 ///< one column alone: the last axis across, the others down; empty: a row a point
};

/// The rows of a sweep as a table. It holds a few cells of every point, in the order in which they come.
class SweepTable {
 public:
  /// Throws InputError for a column that the rows have not, and where there is nothing to set across.
  /// `rows` must outlive this.
  SweepTable(const SweepRows& rows, const SweepView& view);

  void add(const SweepPoint& point, const std::vector<Cell>& axes);
  /// The table, and why points have no numbers, each reason once. What a pivot has nothing for is left empty.
  Document document() const;

 private:
  Table plain() const;
  Table pivoted() const;

  const SweepRows& rows_;
  std::vector<std::string> columns_;       // shown behind the axes
  std::vector<std::size_t> places_;        // of each of them in a row
  bool is_pivot_ = false;
  std::vector<std::vector<Cell>> axes_;    // (point, axis)
  std::vector<std::vector<Cell>> values_;  // (point, column)
  std::vector<std::string> reasons_;       // with how many points have each
  std::vector<std::int64_t> reason_counts_;
};

}  // namespace hybridkv
