#pragma once

#include <optional>
#include <vector>

#include "search/planned_space.h"

namespace hybridkv {

/// What may be chosen of engines with a dual pool and a radix tree, all of which makes the plan. Lists that are left
/// empty stand for:
/// modes and strategies: the engine's own, then those of its axes;
/// pages: the same; no_buffer alone has pages of one;
/// track intervals: the engine's own and, where requests decode, those of its axis;
/// ratios: the engine's own, the one at which most requests of the compared length run, a few around that, and the
/// largest that still runs as many as a pick has to.
class TreeSpace final : public PlannedSpace {
 public:
  TreeSpace(const RecommendSpec& spec, const WorkloadFacts& workload);

  std::vector<EngineSpec> engines() const override;
  PlannedLayout planned(const EngineSpec& engine) const override;
  Key key(const PlannedLayout& layout) const override;
  bool same(const PlannedLayout& layout, const PlannedLayout& other) const override;
  std::int64_t changes(const EngineSpec& engine) const override;
  /// What both pools hold, and no more than the engine runs.
  double running(const CachePlan& plan, std::int64_t tokens) const override;
  bool allows(const PlannedLayout& layout) const override;
  [[noreturn]] void refuse(const std::vector<const PlannedLayout*>& layouts) const override;

 private:
  void fill_space();
  double least_running() const;
  void add_pages(EngineSpec engine, std::vector<EngineSpec>& engines) const;
  void add_ratios(EngineSpec engine, std::vector<EngineSpec>& engines) const;
  std::vector<double> ratios_of(const EngineSpec& engine) const;
  bool runs_enough(EngineSpec engine, double ratio) const;
  std::optional<double> largest_running(const EngineSpec& engine, double best) const;

  const WorkloadFacts& workload_;
  bool decodes_;
  double least_ = 0;  // requests that a pick has to run
};

}  // namespace hybridkv
