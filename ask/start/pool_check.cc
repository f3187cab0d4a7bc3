#include "ask/start/pool_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/plan.h"
#include "base/checked.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

class PoolChecker {
 public:
  PoolChecker(const StartupLog& log, const ModelSpec& model, const EngineSpec& engine, std::int64_t length)
      : log_(log), plan_(plan_fitting_or_not(model, engine, std::max<std::int64_t>(1, length), PlanDetail::summary)) {}

  SettingsCheck check() const {
    SettingsCheck check;
    if (!plan_.tree_pools && !plan_.rows) check.num_blocks = blocks();
    for (const LogKey key : log_figures) {
      const auto& printed = log_.find(key);
      if (!printed) continue;
      FigureCheck& figure = check.figures.emplace_back(FigureCheck{key, printed->text, {}, false});
      figure.planned = planned(key, printed->text);
      figure.explained = figure.planned == printed->text;
      check.explained += figure.explained ? 1 : 0;
    }
    return check;
  }

 private:
  /// In the unit and with the decimals of the log.
  std::string size(const std::optional<std::int64_t>& bytes, const std::string& like) const {
    if (!bytes) return {};
    const double unit = log_.printed_by->size_unit == "MiB" ? 0x1p20 : 0x1p30;  // GB of SGLang are GiB
    const std::size_t point = like.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : like.size() - point - 1;
    return fmt::format("{:.{}f}", static_cast<double>(*bytes) / unit, decimals);
  }

  /// Blocks of tokens: printed, or those that hold the tokens that are.
  std::optional<std::int64_t> blocks() const {
    if (const auto number = log_.whole(LogKey::num_blocks)) return number;
    const std::int64_t block = primary_block_tokens(plan_);
    const auto tokens = log_.whole(LogKey::token_slots);
    return tokens && block > 0 ? std::optional(*tokens / block) : std::nullopt;
  }

  /// Tokens of which the pool has rows, those that nobody gets among them.
  std::int64_t token_rows() const {
    if (plan_.rows) return plan_.rows->cells;
    return plan_.tree_pools->split.token_slots + plan_.tree_pools->page_tokens;
  }
  std::int64_t state_rows() const {
    if (plan_.rows) return plan_.rows->sequences * plan_.rows->rows_per_sequence;
    return plan_.tree_pools->split.state_slots + 1;
  }

  /// Bytes of K or of V of all layers of the model; nothing where the engine does not keep them apart.
  std::optional<std::int64_t> half(bool is_k) const {
    if (!plan_.tree_pools && !plan_.rows) return std::nullopt;
    Checked bytes = 0;
    for (const SpecPlan& spec : plan_.specs) {
      if (!spec.attention || spec.role() == SpecRole::draft) continue;
      const AttentionGeometry& attention = *spec.attention;
      if (attention.kind == AttentionKind::mla || attention.window_tokens > 0) return std::nullopt;
      const std::int64_t both = attention.head_size_k + attention.head_size_v;
      bytes += Checked(token_rows()) * std::ssize(spec.layers) * spec.bytes_per_token *
               (is_k ? attention.head_size_k : attention.head_size_v) / both;
    }
    return std::int64_t{bytes};
  }

  /// Bytes of a tensor of the states in all layers and rows.
  std::optional<std::int64_t> states(std::string_view name) const {
    if (!plan_.tree_pools && !plan_.rows) return std::nullopt;
    Checked bytes = 0;
    for (const SpecPlan& spec : plan_.specs) {
      if (!spec.state || spec.role() == SpecRole::draft) continue;
      for (const StateTensor& tensor : spec.state->tensors)
        if (tensor.name == name) bytes += Checked(state_rows()) * tensor.bytes() * std::ssize(spec.layers);
    }
    return std::int64_t{bytes};
  }

  std::string planned(LogKey key, const std::string& printed) const {
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    switch (key) {
      case LogKey::conv_size: return size(states("conv"), printed);
      case LogKey::ssm_size: return size(states("ssm"), printed);
      case LogKey::k_size: return size(half(true), printed);
      case LogKey::v_size: return size(half(false), printed);
      case LogKey::block_size: return text(primary_block_tokens(plan_));
      default: break;
    }
    if (plan_.tree_pools) {
      const TokenStateSplit& split = plan_.tree_pools->split;
      switch (key) {
        case LogKey::state_slots: return text(split.state_slots);
        case LogKey::token_slots: return text(split.token_slots);
        case LogKey::running_limit: return text(split.max_running);
        default: return {};
      }
    }
    if (plan_.rows) {
      switch (key) {
        case LogKey::state_slots: return text(plan_.rows->sequences);
        case LogKey::token_slots: return text(plan_.rows->unified ? plan_.rows->cells : plan_.rows->slot_cells);
        case LogKey::kv_size: {
          const auto k = half(true), v = half(false);
          return k && v ? size(*k + *v, printed) : std::string();
        }
        default: return {};
      }
    }
    const auto number = blocks();
    if (!number) return {};
    switch (key) {
      case LogKey::num_blocks: return text(*number);
      case LogKey::token_slots: return text(*number * primary_block_tokens(plan_));
      case LogKey::kv_size: return size(*number * plan_.arenas.front().bytes_per_id, printed);
      default: return {};
    }
  }

  const StartupLog& log_;
  CachePlan plan_;
};

}  // namespace

std::optional<SettingsCheck> check_pools(const StartupLog& log, const ModelSpec& model, const EngineSpec& engine,
                                         std::int64_t length) {
  return PoolChecker(log, model, engine, length).check();
}

}  // namespace hybridkv
