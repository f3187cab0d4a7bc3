#include "ask/start/doctor_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/plan.h"
#include "ask/start/pool_check.h"
#include "base/bisect.h"
#include "base/error.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_blocks = std::int64_t{1} << 32;  ///< more than any pool has
constexpr double bytes_of_gib = 1024.0 * 1024.0 * 1024.0;

/// Numbers of blocks that a figure allows, both ends included.
struct BlockRange {
  LogKey key = LogKey::num_blocks;
  std::int64_t first = 1, last = 0;  ///< empty: no number of blocks gives the figure
  bool holds(std::int64_t blocks) const { return first <= blocks && blocks <= last; }
};

int decimals_of(const std::string& text) {
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
}

constexpr const char* printed_like = "0.00";  ///< GiB of vLLM: rounded so, with the last zeros or without

std::string rounded(double value, const std::string& like) { return fmt::format("{:.{}f}", value, decimals_of(like)); }

/// Capacities of one plan for other numbers of blocks.
class BlocksOfPlan {
 public:
  BlocksOfPlan(const CachePlan& plan, std::int64_t length, TokenRule rule)
      : plan_(plan), length_(length), rule_(rule) {}

  CapacityPlan capacity(std::int64_t blocks) {
    plan_.arenas.front().num_ids = blocks;
    return capacity_at(plan_, length_, rule_);
  }
  /// The longest request that the check of the start lets pass with so many blocks, at most the length; 0: none.
  std::int64_t longest(std::int64_t blocks) {
    plan_.arenas.front().num_ids = blocks;
    const auto passes = [&](std::int64_t tokens) { return capacity_at(plan_, tokens, rule_).fits; };
    return passes(1) ? last_that(1, length_, passes) : 0;
  }
  /// The blocks with which the longest such request has so many tokens.
  BlockRange range_of_longest(std::int64_t printed) {
    const auto last_below = [&](auto is_below) {
      if (!is_below(longest(1))) return std::int64_t{0};
      return last_that(1, most_blocks, [&](std::int64_t blocks) { return is_below(longest(blocks)); });
    };
    return {LogKey::estimated_length, last_below([&](std::int64_t tokens) { return tokens < printed; }) + 1,
            last_below([&](std::int64_t tokens) { return tokens <= printed; })};
  }
  /// The blocks whose figure is `printed`. `figure(capacity)` grows with them.
  template <class Figure>
  BlockRange range(LogKey key, double printed, Figure figure) {
    const auto last_below = [&](auto is_below) {
      if (!is_below(figure(capacity(1)))) return std::int64_t{0};
      return last_that(1, most_blocks, [&](std::int64_t blocks) { return is_below(figure(capacity(blocks))); });
    };
    return {key, last_below([&](double value) { return value < printed; }) + 1,
            last_below([&](double value) { return value <= printed; })};
  }

 private:
  CachePlan plan_;
  std::int64_t length_;
  TokenRule rule_;
};

class FigureChecker {
 public:
  FigureChecker(const StartupLog& log, const ModelSpec& model, const EngineSpec& engine, std::int64_t length)
      : log_(log), model_(model), engine_(engine), length_(length) {
    engine_.num_blocks = std::int64_t{1} << 20;
    plan_ = plan_fitting_or_not(model_, engine_, std::max<std::int64_t>(1, length_), PlanDetail::summary);
  }

  SettingsCheck check() {
    BlocksOfPlan blocks(plan_, std::max<std::int64_t>(1, length_), engine_.token_rule);
    const std::vector<BlockRange> ranges = block_ranges(blocks);
    SettingsCheck best;
    std::vector<std::int64_t> tried;
    for (const BlockRange& range : ranges)
      for (const std::int64_t number : {range.first, range.last})
        if (range.first <= range.last && std::find(tried.begin(), tried.end(), number) == tried.end())
          tried.push_back(number);
    if (tried.empty()) return with_blocks(blocks, ranges, std::nullopt);
    for (const std::int64_t number : tried) {
      SettingsCheck one = with_blocks(blocks, ranges, number);
      if (best.figures.empty() || one.explained > best.explained) {
        best = std::move(one);
      } else if (one.explained == best.explained && !same_marks(one.figures, best.figures)) {
        best.rivals.push_back(std::move(one.figures));
      }
    }
    return best;
  }

 private:
  static bool same_marks(const std::vector<FigureCheck>& a, const std::vector<FigureCheck>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const FigureCheck& one, const FigureCheck& other) {
      return one.explained == other.explained;
    });
  }

  std::vector<BlockRange> block_ranges(BlocksOfPlan& blocks) const {
    std::vector<BlockRange> ranges;
    if (plan_.arenas.size() != 1) return ranges;
    if (const auto number = log_.whole(LogKey::num_blocks)) ranges.push_back({LogKey::num_blocks, *number, *number});
    if (const auto& tokens = log_.find(LogKey::kv_cache_tokens); tokens && length_ > 0)
      ranges.push_back(blocks.range(LogKey::kv_cache_tokens, std::stod(tokens->text), [](const CapacityPlan& capacity) {
        return static_cast<double>(capacity.kv_cache_tokens);
      }));
    if (const auto& ratio = log_.find(LogKey::concurrency); ratio && length_ > 0)
      ranges.push_back(blocks.range(LogKey::concurrency, std::stod(ratio->text), [&](const CapacityPlan& capacity) {
        return std::stod(rounded(capacity.max_concurrency, ratio->text));
      }));
    // The first releases with the check count the null block among them.
    if (const auto states = log_.whole(LogKey::state_blocks))
      ranges.push_back({LogKey::state_blocks, *states, *states + 1});
    if (const auto& memory = log_.find(LogKey::memory_gib); memory && !log_.blocks_overridden)
      ranges.push_back(range_of_memory(LogKey::memory_gib, memory->text, 0));
    if (const auto longest = log_.whole(LogKey::estimated_length); longest && length_ > 0)
      ranges.push_back(blocks.range_of_longest(*longest));
    if (const auto& checked = log_.find(LogKey::checked_gib))
      ranges.push_back(range_of_memory(LogKey::checked_gib, checked->text, null_bytes()));
    return ranges;
  }

  /// The null block, which vLLM leaves out of the memory that it checks a start by; no other engine prints that.
  std::int64_t null_bytes() const { return plan_.arenas.front().bytes_per_id; }

  /// Any memory that is printed like that, at both ends, and `more_bytes` that are not printed.
  BlockRange range_of_memory(LogKey key, const std::string& text, std::int64_t more_bytes) const {
    const double half = 0.5 * std::pow(10.0, -decimals_of(printed_like));
    const double gib = std::stod(text);
    const auto blocks = [&](double size) {
      EngineSpec engine = engine_;
      engine.num_blocks.reset();
      set_memory(engine, static_cast<std::int64_t>(std::max(0.0, size) * bytes_of_gib) + more_bytes);
      const CachePlan plan = make_plan(model_, engine, {.max_model_lens = {1}}, std::nullopt, PlanDetail::summary);
      return plan.arenas.front().num_ids;
    };
    try {
      return {key, blocks(gib - half), blocks(gib + half)};
    } catch (const InputError&) {  // too little for a single token
      return {key, 1, 0};
    }
  }

  SettingsCheck with_blocks(BlocksOfPlan& blocks, const std::vector<BlockRange>& ranges,
                            std::optional<std::int64_t> number) const {
    SettingsCheck check;
    check.num_blocks = number;
    const CapacityPlan capacity = number ? blocks.capacity(*number) : CapacityPlan{};
    for (const LogKey key : log_figures) {
      const auto& printed = log_.find(key);
      if (!printed) continue;
      FigureCheck& figure = check.figures.emplace_back(FigureCheck{key, printed->text, {}, false});
      figure.planned = key == LogKey::estimated_length && number && length_ > 0
                           ? std::to_string(blocks.longest(*number))
                           : planned(key, printed->text, capacity, number);
      const auto range =
          std::find_if(ranges.begin(), ranges.end(), [&](const BlockRange& one) { return one.key == key; });
      figure.explained = range != ranges.end() ? number && range->holds(*number) : figure.planned == printed->text;
      if (key == LogKey::memory_gib && log_.blocks_overridden) figure.explained = true;
      check.explained += figure.explained ? 1 : 0;
    }
    return check;
  }

  std::string planned(LogKey key, const std::string& printed, const CapacityPlan& capacity,
                      std::optional<std::int64_t> number) const {
    switch (key) {
      case LogKey::block_size: {
        const SpecPlan* const attention = primary_attention(plan_);
        return attention ? std::to_string(attention->block_size_tokens) : std::string();
      }
      case LogKey::padding_percent: {
        const SpecPlan* const state = largest_state(plan_);
        return state ? rounded(state->padding_percent, printed) : std::string();
      }
      case LogKey::needed_gib: {
        const double gib = static_cast<double>(plan_.capacity.front().bytes_per_request) / bytes_of_gib;
        const std::string planned = rounded(gib, printed_like);
        if (length_ == 0) return {};
        return std::stod(planned) == std::stod(printed) ? printed : planned;
      }
      default: break;
    }
    if (!number) return {};
    switch (key) {
      case LogKey::num_blocks: return std::to_string(*number);
      case LogKey::state_blocks: return std::to_string(*number - 1);
      case LogKey::memory_gib:
      case LogKey::checked_gib: {
        const std::int64_t left_out = key == LogKey::checked_gib ? null_bytes() : 0;
        const auto gib = [&](std::int64_t blocks) {
          const double bytes = static_cast<double>(blocks) * static_cast<double>(plan_.arenas.front().bytes_per_id);
          return (bytes - static_cast<double>(left_out)) / bytes_of_gib;
        };
        if (key == LogKey::memory_gib && log_.blocks_overridden) return "any";
        return rounded(gib(*number), printed_like) + " to " + rounded(gib(*number + 1), printed_like);
      }
      case LogKey::kv_cache_tokens: return length_ > 0 ? std::to_string(capacity.kv_cache_tokens) : std::string();
      case LogKey::concurrency: return length_ > 0 ? rounded(capacity.max_concurrency, printed) : std::string();
      default: return {};
    }
  }

  const StartupLog& log_;
  const ModelSpec& model_;
  EngineSpec engine_;
  std::int64_t length_;
  CachePlan plan_;
};

}  // namespace

std::optional<SettingsCheck> check_settings(const StartupLog& log, const ModelSpec& model, const EngineSpec& engine,
                                            std::int64_t length) {
  try {
    if (log.is_of_pools()) return check_pools(log, model, engine, length);
    return FigureChecker(log, model, engine, length).check();
  } catch (const InputError&) {  // what cannot be planned explains nothing
    return std::nullopt;
  }
}

}  // namespace hybridkv
