#pragma once

#include <vector>

#include "search/planned_space.h"

namespace hybridkv {

/// What may be chosen of two pools under a tree with snapshots, all of which makes the plan: where states of prompts
/// are kept, how far apart periodic ones are, and how memory is shared between states and blocks. Lists that are left
/// empty stand for the engine's own value, then those of its axes; of shares for the engine's own, and a few around it.
class SnapshotSpace final : public PlannedSpace {
 public:
  explicit SnapshotSpace(const RecommendSpec& spec);

  std::vector<EngineSpec> engines() const override;
  Key key(const PlannedLayout& layout) const override;
  bool same(const PlannedLayout& layout, const PlannedLayout& other) const override;
  std::int64_t changes(const EngineSpec& engine) const override;
  [[noreturn]] void refuse(const std::vector<const PlannedLayout*>& layouts) const override;

 private:
  /// Shares around the one that the engine has.
  std::vector<double> ratios_around_own() const;
  void add_ratios(EngineSpec engine, std::vector<EngineSpec>& engines) const;
};

}  // namespace hybridkv
