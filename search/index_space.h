#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/recommendation.h"

namespace hybridkv {

/// What engines that find prefixes by one kind of index let a search choose, and how their layouts are weighed. Pre of
/// all that take layouts: they are of the space.
class IndexSpace {
 public:
  /// Combinations with equal keys are one layout.
  using Key = std::vector<std::int64_t>;

  virtual ~IndexSpace() = default;

  /// The space with its empty lists filled.
  virtual const SearchSpace& space() const = 0;
  /// The engine without a choice.
  virtual EngineSpec default_engine() const = 0;
  /// The engines to plan, in the order of the space.
  virtual std::vector<EngineSpec> engines() const = 0;
  /// Plans one. Throws SpecError or InputError where it does not start.
  virtual PlannedLayout planned(const EngineSpec& engine) const = 0;
  /// Throws SpecError where a layout takes none of the refinements asked for.
  virtual void check(const PlannedLayout&) const {}
  virtual Key key(const PlannedLayout& layout) const = 0;
  /// Are they one choice, as far as the default is concerned?
  virtual bool same(const PlannedLayout& layout, const PlannedLayout& other) const = 0;
  /// Settings of the engine that differ from the default's.
  virtual std::int64_t changes(const EngineSpec& engine) const = 0;

  /// To be called with the default, before refinements are asked for. Throws SpecError where it is not replayed.
  virtual void set_default(const PlannedLayout&) {}
  /// What the default has in that layout.
  virtual Refinement default_refinement(const PlannedLayout&) const { return {}; }
  /// What is to be tried of one layout, whole-block matches with the first retention first.
  virtual std::vector<Refinement> refinements(const PlannedLayout&) const { return {{}}; }
  /// Are the combinations few enough to weigh every one, whatever the limits, and again in other memory?
  virtual bool weighs_all() const = 0;

  /// Requests of so many tokens that run at once.
  virtual double running(const CachePlan& plan, std::int64_t tokens) const = 0;
  /// May it be picked, however many requests it runs?
  virtual bool allows(const PlannedLayout& layout) const = 0;
  /// Says why none of these layouts meets the limits, and what would. Pre: there are some, none does.
  [[noreturn]] virtual void refuse(const std::vector<const PlannedLayout*>& layouts) const = 0;
};

/// The space of the index of the question's engine, which both have to outlive. Throws SpecError for a number of
/// blocks, and where it is not known along which axes the engine is searched.
std::unique_ptr<IndexSpace> index_space(const RecommendSpec& spec, const WorkloadFacts& workload);

}  // namespace hybridkv
