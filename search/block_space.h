#pragma once

#include <optional>
#include <vector>

#include "search/index_space.h"

namespace hybridkv {

/// What may be chosen of engines with pools of blocks: layers of a page, user block size and mode, which make a layout,
/// and of each layout a match unit and a retention interval; without an axis of the engine its own value alone. Lists
/// that are left empty stand for:
/// packs 1 .. 16 as far as there are attention layers to pack, and every divisor of their number;
/// block floors: the engine's own setting, the kernel blocks of the backend and the powers of two from 32 up to 8192,
/// those above the engine's own and not above the length that is compared;
/// modes: the engine's own, then those of its axis (models without recurrent layers: that one alone);
/// retention: the default's, everything (or every block, by a release that has no other way to keep it), only the last
/// checkpoint, every fourth block.
class BlockSpace final : public IndexSpace {
 public:
  /// Throws SpecError for a pack of more layers than there are.
  explicit BlockSpace(const RecommendSpec& spec);

  const SearchSpace& space() const override { return space_; }
  EngineSpec default_engine() const override;
  std::vector<EngineSpec> engines() const override;
  PlannedLayout planned(const EngineSpec& engine) const override;
  void check(const PlannedLayout& layout) const override;
  Key key(const PlannedLayout& layout) const override;
  bool same(const PlannedLayout& layout, const PlannedLayout& other) const override;
  std::int64_t changes(const EngineSpec& engine) const override;
  void set_default(const PlannedLayout& layout) override;
  Refinement default_refinement(const PlannedLayout& layout) const override;
  std::vector<Refinement> refinements(const PlannedLayout& layout) const override;
  bool weighs_all() const override { return false; }
  double running(const CachePlan& plan, std::int64_t tokens) const override;
  bool allows(const PlannedLayout& layout) const override;
  [[noreturn]] void refuse(const std::vector<const PlannedLayout*>& layouts) const override;

 private:
  const EngineAxis* axis(const SearchAxis& wanted) const;
  std::vector<std::int64_t> tried_packs() const;
  void fill_space();
  void fill_retentions();
  std::vector<std::optional<std::int64_t>> default_floors() const;
  /// Match units of a layout, the block itself (unset) first, then descending.
  std::vector<std::optional<std::int64_t>> match_units_of(const PlannedLayout& layout, const SearchSpace& space) const;
  /// Retention intervals of a layout, in tokens, everything (unset) first where it is asked for; those that it does not
  /// take are left out. Where nothing that it keeps depends on them, the release's own alone.
  std::vector<std::optional<std::int64_t>> retentions_of(const PlannedLayout& layout) const;
  void require_match_unit(const PlannedLayout& layout) const;
  void require_retention(const PlannedLayout& layout) const;

  const RecommendSpec& spec_;
  LimitsSpec limits_;
  SchedulerSettings scheduler_;
  SearchSpace space_;
  std::optional<std::int64_t> default_unit_;  // of the default, unset where it is the block
};

/// Layers of the attention spec that has most of them; at least 1.
std::int64_t packable_layers(const ModelSpec& model, const EngineSpec& engine);

/// The interval with which a layout of blocks runs where `asked` is asked for: that, or the release's own where nothing
/// depends on it.
std::optional<std::int64_t> retention_in(const PlannedLayout& layout, std::optional<std::int64_t> asked);

}  // namespace hybridkv
