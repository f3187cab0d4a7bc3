#include "report/plan/kernel_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace hybridkv {

std::vector<std::string> kernel_harms(const std::vector<KernelFit>& fits) {
  std::vector<std::string> harms;
  for (const KernelFit& fit : fits)
    if (harms_kernel({fit})) harms.push_back(kernel_sentence(fit));
  return harms;
}

void add_kernels(Document& document, const std::vector<KernelFit>& fits) {
  Listing harms{{}, true}, others;
  for (const KernelFit& fit : fits) (harms_kernel({fit}) ? harms : others).items.push_back(kernel_sentence(fit) + ".");
  for (Listing* const listing : {&harms, &others})
    if (!listing->items.empty()) document.blocks.emplace_back(std::move(*listing));
}

Listing kernel_corruptions(const std::vector<NamedFits>& layouts) {
  Listing listing{{}, true};
  for (const auto& [name, fits] : layouts)
    for (const KernelFit& fit : fits)
      if (corrupts_kernel({fit})) listing.items.push_back(fmt::format("{}: {}", name, kernel_sentence(fit)));
  return listing;
}

Cell worst_verdict_cell(const std::vector<KernelFit>& fits) {
  const KernelFit* const worst = worst_fit(fits);
  return worst == nullptr ? std::string() : std::string(to_string(worst->verdict));
}

Cell kernel_harms_cell(const std::vector<KernelFit>& fits) {
  return fmt::format("{}", fmt::join(kernel_harms(fits), "; "));
}

std::string figure_of_kernel(const std::string& kernel) { return "kernel " + kernel; }

Table kernel_table(const std::vector<NamedFits>& layouts) {
  std::vector<Column> columns{{"kernel", "kernel", "", Align::left}};
  const std::vector<KernelFit>* judged = nullptr;  // any layout that was planned has all kernels
  for (const auto& [name, fits] : layouts) {
    columns.push_back({name, name, "", Align::left});
    if (!fits.empty()) judged = &fits;
  }
  Table table(std::move(columns));
  if (judged == nullptr) return table;
  for (std::size_t i = 0; i < judged->size(); ++i) {
    std::vector<Cell> cells{(*judged)[i].kernel};
    bool is_harmed = false;
    for (const auto& [name, fits] : layouts) {
      cells.emplace_back(fits.empty() ? std::string() : std::string(to_string(fits[i].verdict)));
      is_harmed = is_harmed || (!fits.empty() && harms_kernel({fits[i]}));
    }
    table.add_row(std::move(cells));
    if (is_harmed) table.mark_row(i);
  }
  return table;
}

}  // namespace hybridkv
