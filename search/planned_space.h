#pragma once

#include <type_traits>
#include <vector>

#include "search/index_space.h"
#include "search/tried_values.h"

namespace hybridkv {

/// A space all of whose choices make the plan, and which is searched whole: of each of them it is known at once how
/// many requests run.
class PlannedSpace : public IndexSpace {
 public:
  /// Borrows the question, and begins with its lists.
  explicit PlannedSpace(const RecommendSpec& spec)
      : spec_(spec), limits_(spec.compared_limits()), space_(spec.space) {}

  const SearchSpace& space() const final { return space_; }
  EngineSpec default_engine() const final { return spec_.engine; }
  PlannedLayout planned(const EngineSpec& engine) const override;
  bool weighs_all() const final { return true; }
  /// What the plan holds at once.
  double running(const CachePlan& plan, std::int64_t tokens) const override;
  bool allows(const PlannedLayout&) const override { return true; }

 protected:
  CachePlan plan_of(const EngineSpec& engine) const;
  /// What is tried along an axis that the question has no list of.
  template <class Value>
  void fill(std::vector<Value>& values, const std::type_identity_t<Value>& own, const SearchAxis& axis) const {
    if (values.empty()) values = tried_values(own, *spec_.engine.rules, axis);
  }
  /// The layout that runs most requests of the compared length. Pre: there is one.
  const PlannedLayout& most_running(const std::vector<const PlannedLayout*>& layouts) const;

  const RecommendSpec& spec_;
  LimitsSpec limits_;
  SearchSpace space_;
};

}  // namespace hybridkv
