#include "ask/full_memory.h"

#include <algorithm>
#include <utility>

#include "ask/plan.h"
#include "base/error.h"
#include "base/first_line.h"

namespace hybridkv {

std::int64_t FullMemory::bytes() const {
  std::int64_t sum = 0;
  for (const MemoryPart& part : parts) sum += part.bytes;
  return sum;
}

FullMemory full_memory(std::string name, CachePlan plan, std::int64_t tokens) {
  FullMemory memory{.name = std::move(name),
                    .refused = {},
                    .evidence = evidence_of(plan),
                    .plan = with_full_load(std::move(plan), tokens),
                    .tokens = tokens,
                    .parts = {}};
  memory.parts = memory_parts(memory.plan);
  return memory;
}

FullMemory full_memory(const CompareSetting& setting) {
  const std::vector<std::int64_t>& lengths = setting.scenario.limits.max_model_lens;
  try {
    return full_memory(setting.name, plan_pack(setting.scenario, 0, PlanDetail::numbers),
                       *std::max_element(lengths.begin(), lengths.end()));
  } catch (const InputError& error) {
    FullMemory none;
    none.name = setting.name;
    none.refused = first_line(error.what());
    return none;
  }
}

}  // namespace hybridkv
