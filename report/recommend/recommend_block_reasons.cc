#include "report/recommend/recommend_block_reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/primary_attention.h"
#include "report/human.h"
#include "report/plan/plan_table.h"
#include "report/recommend/recommend_text.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

std::string block_settings_text(const Recommendation& result, const Candidate& candidate) {
  const PlannedLayout& layout = result.layout_of(candidate);
  std::string text = fmt::format("N = {}, mode {}, block {}", layout.pack(), to_string(layout.mode()),
                                 human_count(block_tokens(layout)));
  if (layout.block_floor()) text += fmt::format(" (block size {})", human_count(*layout.block_floor()));
  if (candidate.match_unit_tokens) text += fmt::format(", match unit {}", human_count(*candidate.match_unit_tokens));
  if (candidate.retention_tokens && layout.geometry().depends_on_retention())
    text += *candidate.retention_tokens == 0 ? std::string(", only last checkpoints kept")
                                             : fmt::format(", checkpoints kept every {} tokens",
                                                           human_count(*candidate.retention_tokens));
  return text;
}

class BlockReasons {
 public:
  BlockReasons(const RecommendAnswer& report, RecommendReasons& reasons)
      : report_(report), result_(report.result), pick_(report.picked()), reasons_(reasons) {
    if (result_.default_candidate) default_ = &result_.candidates[*result_.default_candidate];
  }

  void add() {
    never_hits();
    costs();
    unpacked();
    packs();
  }

 private:
  void never_hits() {
    if (default_ == nullptr || default_->hit_tokens > 0) return;
    const PlannedLayout& layout = result_.layout_of(*default_);
    CacheGeometry geometry = layout.geometry();
    geometry.match_unit_tokens = default_->match_unit_tokens;
    const std::string why = why_no_hits("The default block", geometry,
                                        {.longest_prompt_tokens = result_.workload.longest_prompt_tokens,
                                         .longest_repeat_tokens = result_.workload.longest_repeat_tokens,
                                         .uncached_common_tokens = default_->uncached_common_tokens(),
                                         .evictions = default_->evictions});
    reasons_.never_hits.push_back((geometry.caches_prefixes() ? "" : "The default hits nothing: ") + why + ".");
    if (const std::string would = what_would_hit(layout); !would.empty()) reasons_.never_hits.push_back(would);
  }

  /// The first candidate that hits among those of which `wanted` is true.
  template <class Wanted>
  const Candidate* first_hitting(Wanted wanted) const {
    for (const Candidate& candidate : result_.candidates)
      if (candidate.hit_tokens > 0 && wanted(candidate)) return &candidate;
    return nullptr;
  }

  std::string hits_text(const Candidate& candidate) const {
    return fmt::format("{}: {} of {} prompt tokens hit ({})", block_settings_text(result_, candidate),
                       human_count(candidate.hit_tokens), human_count(result_.workload.prompt_tokens),
                       human_percent(100 * candidate.hit_rate()));
  }

  std::string what_would_hit(const PlannedLayout& of_default) const {
    std::vector<std::string> ways;
    for (const CacheMode mode : result_.space.modes) {
      // Candidates come by the number of changed settings, then by pack: the first is the least change.
      const Candidate* const coarsest = first_hitting([&](const Candidate& candidate) {
        const PlannedLayout& layout = result_.layout_of(candidate);
        return layout.mode() == mode && layout.block_floor() == of_default.block_floor() &&
               !candidate.match_unit_tokens && candidate.retention_tokens == default_->retention_tokens;
      });
      if (coarsest != nullptr) ways.push_back(hits_text(*coarsest));
    }
    const Candidate* const unit = first_hitting([&](const Candidate& candidate) {
      return result_.layouts[candidate.layout].pack() == 1 && candidate.layout == default_->layout &&
             candidate.match_unit_tokens && candidate.retention_tokens == default_->retention_tokens;
    });
    if (unit != nullptr) ways.push_back(hits_text(*unit));
    if (ways.empty())
      if (const Candidate* const any = first_hitting([](const Candidate&) { return true; }))
        ways.push_back(hits_text(*any));
    if (ways.empty()) return "Nothing in the space hits either.";
    return fmt::format("What would, with the fewest changes: {}.", fmt::join(ways, "; "));
  }

  /// The best that needs no packing, against a pick that does.
  void unpacked() {
    if (result_.layout_of(pick_).pack() == 1) return;
    const std::vector<std::int64_t>& packs = result_.space.packs;
    if (!result_.unpacked_pick) {
      const bool searched = std::find(packs.begin(), packs.end(), 1) != packs.end();
      reasons_.unpacked.push_back(searched ? "No combination with N = 1 meets the limits."
                                           : "N = 1 was not searched; add 1 to --packs to see it.");
      return;
    }
    const Candidate& best = result_.candidates[*result_.unpacked_pick];
    reasons_.unpacked.push_back("Against the pick: " + tokens_against(best, pick_, result_.workload) + ".");
    reasons_.unpacked.push_back("Against the pick: " + memory_against(best, pick_, result_.at_length) + ".");
  }

  void costs() {
    if (default_ != nullptr && default_ != &pick_) {
      const CachePlan& p = result_.layout_of(pick_).plan;
      const CachePlan& d = result_.layout_of(*default_).plan;
      const std::int64_t ids = result_.capacity_of(pick_).blocks_per_request;
      const std::int64_t default_ids = result_.capacity_of(*default_).blocks_per_request;
      if (p.groups.size() != d.groups.size() || ids != default_ids)
        reasons_.costs.push_back(fmt::format(
            "Bookkeeping: a request of {} tokens has {} and holds {}, by default {} and {}; a step of the engine fills "
            "one table for every group.",
            human_count(result_.at_length), human_plural(std::ssize(p.groups), "block table"),
            human_plural(ids, "block id"), human_plural(std::ssize(d.groups), "block table"),
            human_plural(default_ids, "block id")));
      if (pick_.copied_states > default_->copied_states)
        reasons_.costs.push_back(fmt::format("{} states are copied on this workload instead of {}, counted per group.",
                                             human_count(pick_.copied_states), human_count(default_->copied_states)));
    }
    if (result_.layout_of(pick_).pack() > 1)
      reasons_.costs.push_back(
          "It needs an engine that packs attention layers (PR 35703), which no release does.");
  }

  /// The candidate of that pack with the pick's mode and nothing else changed.
  const Candidate* plain(std::int64_t pack) const {
    for (const PlainPack& one : report_.plain_packs)
      if (result_.layout_of(one.candidate).pack() == pack) return &result_.candidates[one.candidate];
    return nullptr;
  }

  std::string pack_figures(const Candidate& candidate) const {
    return fmt::format("block {}, {} a request, {} at once, {} tokens re-prefilled",
                       human_count(block_tokens(result_.layout_of(candidate))),
                       human_bytes(candidate.objectives.bytes_per_request),
                       human_real(candidate.objectives.concurrency),
                       human_count(candidate.objectives.reprefilled_tokens));
  }

  /// What a pack that does not divide wastes in every block, in words.
  std::string waste_text(const CachePlan& plan, const SpecPlan& spec) const {
    const auto layers = static_cast<std::int64_t>(spec.layers.size());
    const std::int64_t missing = spec.num_pages * spec.layers_per_page - layers;
    std::int64_t short_bytes = 0;
    std::int64_t empty = 0;
    for (const BlockWaste& waste : plan.waste.per_block) short_bytes = std::max(short_bytes, waste.short_pack_bytes);
    for (const GroupPlan& group : plan.groups) empty += group.padding_positions;
    std::string text = fmt::format("the last of its {} packs lacks {} of {} layers, {} of every attention block",
                                   spec.num_pages, missing, spec.layers_per_page, human_bytes(short_bytes));
    if (empty > 0) text += fmt::format(", and {} in its groups stay empty", human_plural(empty, "place"));
    return text;
  }

  void packs() {
    const SpecPlan* const attention = primary_attention(result_.layout_of(pick_).plan);
    if (attention == nullptr || result_.space.packs.size() < 2) return;
    const auto layers = static_cast<std::int64_t>(attention->layers.size());
    std::vector<std::int64_t> dividing;
    for (const std::int64_t pack : result_.space.packs)
      if (pack > 1 && layers % pack == 0 && plain(pack) != nullptr) dividing.push_back(pack);
    std::sort(dividing.begin(), dividing.end());
    if (dividing.empty()) return;
    reasons_.packs.push_back(fmt::format(
        "N = {} {} the {} attention layers: every pack is full. A pack that does not divide them pays for layers that "
        "do not exist, in every block.",
        fmt::join(dividing, ", "), dividing.size() == 1 ? "divides" : "divide", layers));
    std::vector<std::int64_t> others;
    for (const std::int64_t pack : result_.space.packs)
      if (pack > dividing.front() && layers % pack != 0 && plain(pack) != nullptr) others.push_back(pack);
    std::sort(others.begin(), others.end());
    if (!others.empty()) reasons_.packs.push_back(neighbours_text(others.front(), dividing));
  }

  /// Why the dividing packs next to `pack` beat it.
  std::string neighbours_text(std::int64_t pack, const std::vector<std::int64_t>& dividing) const {
    const Candidate& odd = *plain(pack);
    const CachePlan& plan = result_.layout_of(odd).plan;
    std::string text =
        fmt::format("N = {}: {}; {}", pack, waste_text(plan, *primary_attention(plan)), pack_figures(odd));
    const auto above = std::upper_bound(dividing.begin(), dividing.end(), pack);
    std::vector<std::int64_t> neighbours{*(above - 1)};
    if (above != dividing.end()) neighbours.push_back(*above);
    for (const std::int64_t neighbour : neighbours) {
      const Candidate& even = *plain(neighbour);
      const bool beats = dominates(even.objectives, odd.objectives);
      const bool finer = block_tokens(result_.layout_of(even)) <= block_tokens(result_.layout_of(odd));
      text += fmt::format(". N = {}: {}", neighbour, pack_figures(even));
      if (finer && beats) text += "; finer and less waste";
      if (beats)
        text += fmt::format(", {} {} in all three objectives",
                            even.objectives.reprefilled_tokens < odd.objectives.reprefilled_tokens ? "better than"
                                                                                                   : "no worse than",
                            pack);
      else if (even.objectives.bytes_per_request < odd.objectives.bytes_per_request)
        text += "; less waste";
    }
    return text + ".";
  }

  const RecommendAnswer& report_;
  const Recommendation& result_;
  const Candidate& pick_;
  const Candidate* default_ = nullptr;
  RecommendReasons& reasons_;
};

}  // namespace

std::string settings_of_blocks(const RecommendAnswer& report, const Candidate& candidate) {
  return block_settings_text(report.result, candidate);
}

void add_block_reasons(const RecommendAnswer& report, RecommendReasons& reasons) {
  BlockReasons(report, reasons).add();
}

}  // namespace hybridkv
