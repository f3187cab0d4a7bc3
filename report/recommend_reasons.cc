#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/primary_attention.h"
#include "report/human.h"
#include "report/plan_table.h"
#include "report/recommend_report.h"
#include "report/replay_text.h"

namespace hybridkv {

namespace {

double percent_change(double from, double to) { return from == 0 ? 0 : 100 * (to - from) / from; }

/// "(-24.3 %)", "(+1.2 %)"; nothing where the numbers are equal.
std::string change_text(double from, double to) {
  if (from == to || from == 0) return "";
  const double percent = percent_change(from, to);
  return fmt::format(" ({}{})", percent > 0 ? "+" : "", human_percent(percent, 1));
}

std::string short_settings(const Recommendation& result, const Candidate& candidate) {
  const PlannedLayout& layout = result.layout_of(candidate);
  std::string text = fmt::format("N = {}, mode {}, block {}", layout.pack, to_string(layout.mode),
                                 human_count(block_tokens(layout)));
  if (layout.block_floor) text += fmt::format(" (block size {})", human_count(*layout.block_floor));
  if (candidate.match_unit_tokens) text += fmt::format(", match unit {}", human_count(*candidate.match_unit_tokens));
  if (candidate.retention_tokens)
    text += *candidate.retention_tokens == 0 ? std::string(", only last checkpoints kept")
                                             : fmt::format(", checkpoints kept every {} tokens",
                                                           human_count(*candidate.retention_tokens));
  return text;
}

class Reasons {
 public:
  explicit Reasons(const RecommendReport& report)
      : report_(report), result_(report.result), pick_(result_.candidates[result_.pick]) {
    if (result_.default_candidate) default_ = &result_.candidates[*result_.default_candidate];
  }

  RecommendReasons all() {
    never_hits();
    if (default_ == nullptr) {
      reasons_.gains.push_back(
          fmt::format("The default (one layer a page) cannot run: {}.", result_.default_refused->what()));
    } else if (default_ == &pick_) {
      reasons_.gains.push_back(
          "The default is the pick: nothing in the space is worth a change of settings by the rule below.");
    } else {
      compare(*default_);
    }
    costs();
    unpacked();
    choice();
    packs();
    for (const WhatIf& what_if : result_.what_ifs) reasons_.changes.push_back(what_if_text(what_if));
    return std::move(reasons_);
  }

 private:
  std::string hit_rate_text(const Candidate& candidate) const { return human_percent(100 * candidate.hit_rate()); }

  void never_hits() {
    if (default_ == nullptr || default_->hit_tokens > 0) return;
    const PlannedLayout& layout = result_.layout_of(*default_);
    CacheGeometry geometry = layout.geometry;
    geometry.match_unit_tokens = default_->match_unit_tokens;
    const std::string why = why_no_hits("The default block", geometry,
                                        {.longest_prompt_tokens = result_.workload.longest_prompt_tokens,
                                         .longest_repeat_tokens = result_.workload.longest_repeat_tokens,
                                         .uncached_common_tokens = default_->uncached_common_tokens,
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
    return fmt::format("{}: {} of {} prompt tokens hit ({})", short_settings(result_, candidate),
                       human_count(candidate.hit_tokens), human_count(result_.workload.prompt_tokens),
                       hit_rate_text(candidate));
  }

  std::string what_would_hit(const PlannedLayout& of_default) const {
    std::vector<std::string> ways;
    for (const CacheMode mode : result_.space.modes) {
      // Candidates come by the number of changed settings, then by pack: the first is the least change.
      const Candidate* const coarsest = first_hitting([&](const Candidate& candidate) {
        const PlannedLayout& layout = result_.layout_of(candidate);
        return layout.mode == mode && layout.block_floor == of_default.block_floor && !candidate.match_unit_tokens &&
               !candidate.retention_tokens;
      });
      if (coarsest != nullptr) ways.push_back(hits_text(*coarsest));
    }
    const Candidate* const unit = first_hitting([&](const Candidate& candidate) {
      return result_.layouts[candidate.layout].pack == 1 && candidate.layout == default_->layout &&
             candidate.match_unit_tokens && !candidate.retention_tokens;
    });
    if (unit != nullptr) ways.push_back(hits_text(*unit));
    if (ways.empty())
      if (const Candidate* const any = first_hitting([](const Candidate&) { return true; }))
        ways.push_back(hits_text(*any));
    if (ways.empty()) return "Nothing in the space hits either.";
    return fmt::format("What would, with the fewest changes: {}.", fmt::join(ways, "; "));
  }

  /// What of a candidate is computed again against another one, and how much of the prompts hits.
  std::string tokens_against(const Candidate& candidate, const Candidate& other) const {
    const Objectives& a = candidate.objectives;
    const Objectives& b = other.objectives;
    return fmt::format(
        "{} prompt tokens computed again instead of {}{}; {} of the prompt tokens hit instead of {}, of at most {}",
        human_count(a.reprefilled_tokens), human_count(b.reprefilled_tokens),
        change_text(static_cast<double>(b.reprefilled_tokens), static_cast<double>(a.reprefilled_tokens)),
        hit_rate_text(candidate), hit_rate_text(other), best_rate_text());
  }

  std::string memory_against(const Candidate& candidate, const Candidate& other) const {
    const Objectives& a = candidate.objectives;
    const Objectives& b = other.objectives;
    return fmt::format("{} for a request of {} tokens instead of {}{}: {} at once instead of {}",
                       human_bytes(a.bytes_per_request), human_count(result_.at_length),
                       human_bytes(b.bytes_per_request),
                       change_text(static_cast<double>(b.bytes_per_request), static_cast<double>(a.bytes_per_request)),
                       human_real(a.concurrency), human_real(b.concurrency));
  }

  void compare(const Candidate& other) {
    const Objectives& p = pick_.objectives;
    const Objectives& d = other.objectives;
    const auto add = [&](bool better, bool worse, const std::string& text) {
      if (better) reasons_.gains.push_back(text + ".");
      if (worse) reasons_.costs.push_back(text + ".");
    };
    add(p.reprefilled_tokens < d.reprefilled_tokens, p.reprefilled_tokens > d.reprefilled_tokens,
        tokens_against(pick_, other));
    add(p.bytes_per_request < d.bytes_per_request, p.bytes_per_request > d.bytes_per_request,
        memory_against(pick_, other));
  }

  /// The best that needs no packing, against a pick that does.
  void unpacked() {
    if (result_.layout_of(pick_).pack == 1) return;
    const std::vector<std::int64_t>& packs = result_.space.packs;
    if (!result_.unpacked_pick) {
      const bool searched = std::find(packs.begin(), packs.end(), 1) != packs.end();
      reasons_.unpacked.push_back(searched ? "No combination with N = 1 meets the limits."
                                           : "N = 1 was not searched; add 1 to --packs to see it.");
      return;
    }
    const Candidate& best = result_.candidates[*result_.unpacked_pick];
    reasons_.unpacked.push_back("Against the pick: " + tokens_against(best, pick_) + ".");
    reasons_.unpacked.push_back("Against the pick: " + memory_against(best, pick_) + ".");
  }

  std::string best_rate_text() const {
    const auto prompt = static_cast<double>(result_.workload.prompt_tokens);
    return human_percent(100 * static_cast<double>(result_.workload.repeated_tokens) / prompt);
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
    if (result_.layout_of(pick_).pack > 1)
      reasons_.costs.push_back(
          "It needs an engine that packs attention layers (vLLM PR 35703), which no release does.");
    if (!pick_.modelled.empty()) reasons_.costs.push_back(modelled_sentence(pick_.modelled));
  }

  void choice() {
    const auto kept = std::count_if(result_.front.begin(), result_.front.end(), [&](std::size_t at) {
      return result_.candidates[at].objectives.concurrency >= result_.least_concurrency;
    });
    std::string in_question = fmt::format("In question: {} of the {} on the Pareto front", kept, result_.front.size());
    if (report_.min_concurrency)
      in_question += fmt::format(", which hold the {} requests demanded", human_real(*report_.min_concurrency));
    else if (result_.reference_candidate)
      in_question += fmt::format(", which hold at least {} requests at once, {} of the {} of {}",
                                 human_real(result_.least_concurrency),
                                 human_percent(100 * (1 - report_.rule.most_given_up), 0),
                                 human_real(result_.candidates[*result_.reference_candidate].objectives.concurrency),
                                 result_.reference_candidate == result_.default_candidate ? "the default"
                                                                                          : "N = 1 in mode align");
    if (kept == 0) in_question += "; as none does, the one that holds most";
    reasons_.choice.push_back(in_question + ".");
    const std::string alike = human_percent(100 * report_.rule.alike, 1);
    reasons_.choice.push_back(fmt::format(
        "Of these, those that re-prefill at most {} of all prompt tokens more than the best; of these, those within {} "
        "of the fewest bytes a request; of these, the one that changes fewest settings, then the one of fewest bytes.",
        alike, alike));
  }

  /// The candidate of that pack with the pick's mode and nothing else changed.
  const Candidate* plain(std::int64_t pack) const {
    for (const PlainPack& one : report_.plain_packs)
      if (result_.layout_of(result_.candidates[one.candidate]).pack == pack) return &result_.candidates[one.candidate];
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
    for (const GroupPlan& group : plan.groups) empty += group.padding_slots;
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

  std::string assumption_text(const WhatIf& what_if) const {
    const auto whole = static_cast<std::int64_t>(what_if.value);
    switch (what_if.assumption) {
      case Assumption::memory: return fmt::format("With {} of memory", human_bytes(whole));
      case Assumption::length: return fmt::format("For requests of {} tokens", human_count(whole));
      case Assumption::concurrency:
        return fmt::format("If more than {} requests must fit at once", human_real(what_if.value));
      case Assumption::no_reuse: return "If no prompt shared anything with another";
    }
    return "?";
  }

  std::string what_if_text(const WhatIf& what_if) const {
    const std::string assumption = assumption_text(what_if);
    if (!what_if.pick) return assumption + " nothing in the space meets the limits.";
    if (*what_if.pick == result_.pick) return assumption + " the pick stays.";
    std::string text = fmt::format("{} the pick changes to {}: ", assumption,
                                   short_settings(result_, result_.candidates[*what_if.pick]));
    text += fmt::format("{} a request, {} at once", human_bytes(what_if.objectives.bytes_per_request),
                        human_real(what_if.objectives.concurrency));
    if (what_if.assumption != Assumption::no_reuse)
      text += fmt::format(", {} tokens re-prefilled", human_count(what_if.objectives.reprefilled_tokens));
    const Objectives& stated = what_if.stated_pick;
    text += fmt::format("; this pick would have {}, {}", human_bytes(stated.bytes_per_request),
                        human_real(stated.concurrency));
    if (what_if.assumption != Assumption::no_reuse)
      text += fmt::format(", {} tokens", human_count(stated.reprefilled_tokens));
    return text + ".";
  }

  const RecommendReport& report_;
  const Recommendation& result_;
  const Candidate& pick_;
  const Candidate* default_ = nullptr;
  RecommendReasons reasons_;
};

}  // namespace

RecommendReasons recommend_reasons(const RecommendReport& report) { return Reasons(report).all(); }

}  // namespace hybridkv
