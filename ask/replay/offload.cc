#include "ask/replay/offload.h"

namespace hybridkv {

std::vector<OffloadEntry> offload_entries(const TransferSide& side) {
  const CachePlan& plan = side.stages.front();
  std::vector<OffloadEntry> entries;
  for (const PageRuns& runs : page_runs(plan)) {
    const GroupPlan& group = plan.groups[runs.group];
    const SpecPlan& spec = plan.spec_of(group);
    OffloadEntry entry{.kind = spec.kind,
                       .tokens = spec.attention ? spec.block_size_tokens : 0,
                       .groups = 1,
                       .layers = std::ssize(group.layers()),
                       .runs = runs};
    if (!entries.empty()) {
      OffloadEntry& last = entries.back();
      PageRuns same = last.runs;
      same.group = runs.group;
      if (last.kind == entry.kind && last.tokens == entry.tokens && last.layers == entry.layers && same == runs) {
        ++last.groups;
        continue;
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace hybridkv
