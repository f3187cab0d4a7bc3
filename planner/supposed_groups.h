#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/arrangement.h"
#include "planner/supposed_layout.h"

namespace hybridkv {

/// The groups of engine.what_if, by the kinds of layers that a model has. What an engine adds to the model, the layers
/// of a draft and auxiliary ones, stays in groups of the engine's own.
class SupposedGroups {
 public:
  SupposedGroups() = default;
  /// None where nothing is supposed. Throws SpecError for layers of no kind, of two kinds in one group, those that are
  /// left out or named twice.
  SupposedGroups(const SupposedLayout& what_if, std::span<const SpecPlan> specs);

  bool exist() const { return !by_spec_.empty(); }
  /// Is the spec grouped so?
  bool holds(const SpecPlan& spec) const { return exist() && !spec.draft && !spec.auxiliary; }
  /// Layers of each of its groups. Pre: holds.
  const std::vector<std::vector<std::int64_t>>& of(const SpecPlan& spec) const {
    return by_spec_[static_cast<std::size_t>(spec.id)];
  }
  /// g: pages of the widest group. Pre: exist.
  std::int64_t widest() const { return widest_; }

 private:
  std::vector<std::vector<std::vector<std::int64_t>>> by_spec_;
  std::int64_t widest_ = 0;
};

/// Layers of a group in pages of so many.
std::vector<std::vector<std::int64_t>> in_pages_of(std::span<const std::int64_t> layers, std::int64_t layers_per_page);

}  // namespace hybridkv
