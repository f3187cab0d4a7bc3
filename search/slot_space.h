#pragma once

#include <optional>
#include <vector>

#include "search/planned_space.h"

namespace hybridkv {

/// What may be chosen of a server with slots, all of which makes the plan: how many there are, how many checkpoints of
/// states each keeps on the host, how far apart older ones have to lie, and what saved prompts may take of the host.
/// Lists that are left empty stand for the engine's own value, then those of its axes; of slots also for the most that
/// hold requests of the compared length at once, of saved prompts for parts of the host's memory, where that has a
/// limit.
class SlotSpace final : public PlannedSpace {
 public:
  explicit SlotSpace(const RecommendSpec& spec);

  std::vector<EngineSpec> engines() const override;
  Key key(const PlannedLayout& layout) const override;
  bool same(const PlannedLayout& layout, const PlannedLayout& other) const override;
  std::int64_t changes(const EngineSpec& engine) const override;
  /// Does the host hold all checkpoints of all slots and as many saved prompts as may be?
  bool allows(const PlannedLayout& layout) const override;
  [[noreturn]] void refuse(const std::vector<const PlannedLayout*>& layouts) const override;

 private:
  std::optional<std::int64_t> most_full_slots() const;
  void fill_cache_rams();
};

}  // namespace hybridkv
