#include "report/plan/memory_bars.h"

#include <fmt/format.h>

#include "report/human.h"
#include "report/plan/explain_report.h"

namespace hybridkv {

Bars memory_bars(const std::vector<FullMemory>& memories) {
  Bars bars;
  for (const FullMemory& memory : memories) {
    if (!memory.refused.empty()) continue;
    const std::string known =
        memory.evidence == Evidence::run ? std::string() : fmt::format(" ({})", to_string(memory.evidence));
    Bar bar{memory.name + known,
            fmt::format("{}{}: {} with {} of {} tokens", memory.name, known, human_bytes(memory.bytes()),
                        human_plural(memory.requests(), "request"), human_count(memory.tokens)),
            {}};
    for (const MemoryPart& part : memory.parts) bar.bytes.push_back(part.bytes);
    bars.bars.push_back(std::move(bar));
    if (!bars.kinds.empty()) continue;
    for (const MemoryPart& part : memory.parts) bars.kinds.push_back({std::string(part.name), std::string(part.title)});
  }
  bars.caption =
      "The memory of one rank to scale, as full as running requests make it. Further states: checkpoints, and those of "
      "draft tokens. Reserved: the null block, what lies beside the pools, and what is no whole block.";
  return bars;
}

Document memory_bar_steps(const FullMemory& memory) {
  CachePlan plan = memory.plan;
  std::erase_if(plan.derivation, [](const Decision& decision) {
    const std::string& symbol = decision.result.symbol;
    return !symbol.ends_with(" at the load") && !symbol.ends_with("of a running request") && symbol != "unallocated";
  });
  return explain_steps(plan);
}

}  // namespace hybridkv
