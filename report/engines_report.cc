#include "report/engines_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "report/compare_report.h"
#include "report/plan/kernel_text.h"
#include "report/plan/memory_bars.h"

namespace hybridkv {

namespace {

/// The rows that are marked, and the others where the reader opens them.
std::vector<Block> with_alike_folded(const Table& table) {
  Table differing(table.columns()), alike(table.columns());
  for (std::size_t row = 0; row < table.rows().size(); ++row)
    (table.is_marked(row) ? differing : alike).add_row(table.rows()[row]);
  std::vector<Block> blocks;
  if (!differing.rows().empty()) blocks.emplace_back(std::move(differing));
  if (alike.rows().empty()) return blocks;
  blocks.emplace_back(FoldBegin{fmt::format("Same for all: {} rows", alike.rows().size())});
  blocks.emplace_back(std::move(alike));
  blocks.emplace_back(FoldEnd{});
  return blocks;
}

/// Where a kernel would silently corrupt the cache of an engine.
Listing corruptions_in(const CompareAnswer& comparison) {
  std::vector<NamedFits> layouts;
  for (const ComparedSetting& setting : comparison.settings) layouts.emplace_back(setting.name, setting.kernels);
  return kernel_corruptions(layouts);
}

}  // namespace

Document engines_report(const EnginesReportInputs& inputs) {
  Document compared = compare_document(inputs.comparison, CompareRules::shown), document;
  bool pictured = false;
  for (Block& block : compared.blocks) {
    const auto* const table = std::get_if<Table>(&block);
    if (table == nullptr || pictured) {
      document.blocks.push_back(std::move(block));
      continue;
    }
    // Pictures first: they say at once what the table says in numbers.
    pictured = true;
    if (Listing corrupting = corruptions_in(inputs.comparison); !corrupting.items.empty())
      document.blocks.emplace_back(std::move(corrupting));
    if (Bars bars = memory_bars(inputs.memories); !bars.bars.empty()) document.blocks.emplace_back(std::move(bars));
    document.blocks.insert(document.blocks.end(), inputs.pictures.begin(), inputs.pictures.end());
    for (Block& part : with_alike_folded(*table)) document.blocks.push_back(std::move(part));
  }
  document.blocks.emplace_back(Heading{"Commands"});
  document.blocks.emplace_back(Code{inputs.commands});
  return document;
}

}  // namespace hybridkv
