#pragma once

#include <vector>

#include "search/index_space.h"

namespace hybridkv {

/// What may be chosen of two pools under a tree with snapshots, all of which makes the plan: where states of prompts
/// are kept, how far apart periodic ones are, and how memory is shared between states and blocks. Lists that are left
/// empty stand for the engine's own value, then those of its axes; of shares for the engine's own, and a few around it.
class SnapshotSpace final : public IndexSpace {
 public:
  explicit SnapshotSpace(const RecommendSpec& spec);

  const SearchSpace& space() const override { return space_; }
  EngineSpec default_engine() const override { return spec_.engine; }
  std::vector<EngineSpec> engines() const override;
  PlannedLayout planned(const EngineSpec& engine) const override;
  Key key(const PlannedLayout& layout) const override;
  bool same(const PlannedLayout& layout, const PlannedLayout& other) const override;
  std::int64_t changes(const EngineSpec& engine) const override;
  bool weighs_all() const override { return true; }
  double running(const CachePlan& plan, std::int64_t tokens) const override;
  bool allows(const PlannedLayout&) const override { return true; }
  [[noreturn]] void refuse(const std::vector<const PlannedLayout*>& layouts) const override;

 private:
  CachePlan plan_of(const EngineSpec& engine) const;
  /// Shares around the one that the engine has.
  std::vector<double> ratios_around_own() const;
  void add_ratios(EngineSpec engine, std::vector<EngineSpec>& engines) const;

  const RecommendSpec& spec_;
  LimitsSpec limits_;
  SearchSpace space_;
};

}  // namespace hybridkv
