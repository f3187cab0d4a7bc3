#include "report/replay/block_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/replay/replay_text.h"
#include "report/replay/upper_bounds.h"

namespace hybridkv {

namespace {

/// Only the open loop has arrivals to wait since.
Cell block_latency(const Blocks::Row& row, double seconds) {
  return row.answer.driver.kind == DriverKind::open_loop ? Cell(Real{seconds, 6}) : Cell();
}

Cell block_modelled_names(const Blocks::Row& row) {
  std::vector<std::string> rules;
  for (const ModelledRule rule : row.stats.modelled) rules.emplace_back(to_string(rule));
  return fmt::format("{}", fmt::join(rules, ", "));
}

Cell block_why_no_hits(const Blocks::Row& row) {
  const std::string why = why_no_hits(row.stats, row.cache.longest_repeat);
  return why.empty() ? Cell() : Cell(why);
}

const Blocks::List& block_counters() {
  static const Blocks::List fields{
      Blocks::name(),
      Blocks::geometry<&CacheGeometry::block_size_tokens>({"block_size_tokens"}),
      Blocks::geometry<&CacheGeometry::num_blocks>({"num_blocks"}),
      Blocks::geometry<&CacheGeometry::attention_groups>({"attention_groups"}),
      Blocks::geometry<&CacheGeometry::state_groups>({"state_groups"}),
      {{"mode"}, [](const auto& row) { return mode_text(row.stats.geometry); }},
      {{"match_unit_tokens"}, [](const auto& row) { return row.stats.geometry.match_unit(); }},
      Blocks::of<&SimulationStats::requests>({"requests"}),
      Blocks::of<&SimulationStats::prompt_tokens>({"prompt_tokens"}),
      Blocks::of<&SimulationStats::hit_tokens>({"hit_tokens"}),
      {{"hit_rate"}, [](const auto& row) { return Real{row.stats.hit_rate(), 6}; }},
      Blocks::of<&SimulationStats::requests_with_hit>({"requests_with_hit"}),
      Blocks::of<&SimulationStats::checkpoints_made>({"checkpoints_made"}),
      Blocks::of<&SimulationStats::checkpoints_used>({"checkpoints_used"}),
      Blocks::of<&SimulationStats::checkpoints_evicted>({"checkpoints_evicted"}),
      {{"evictions"}, [](const auto& row) { return row.stats.pool.evictions; }},
      Blocks::of<&SimulationStats::max_held_blocks>({"max_held_blocks"}),
      Blocks::of<&SimulationStats::max_held_state_blocks>({"max_held_state_blocks"}),
      Blocks::of<&SimulationStats::max_running>({"max_running"}),
      {{"max_model_len"}, [](const auto& row) { return row.cache.max_model_len; }},
      Blocks::of<&SimulationStats::too_long>({"too_long"}),
      Blocks::of<&SimulationStats::cut_outputs>({"cut_outputs"}),
      Blocks::of<&SimulationStats::refused>({"refused"}),
      Blocks::of<&SimulationStats::stalled>({"stalled"}),
      Blocks::of<&SimulationStats::preemptions>({"preemptions"}),
      Blocks::of<&SimulationStats::preempted_requests>({"preempted_requests"}),
      Blocks::of<&SimulationStats::reprefilled_tokens>({"reprefilled_tokens"}),
      {{"longest_request"}, [](const auto& row) { return Length{row.cache.longest_request.value_or(0)}; }},
      Blocks::of<&SimulationStats::generated_tokens>({"generated_tokens"}),
      Blocks::of<&SimulationStats::prefill_chunks>({"prefill_chunks"}),
      Blocks::of<&SimulationStats::copied_states>({"copied_states"}),
      Blocks::of<&SimulationStats::steps>({"steps"}),
      {{"seconds"}, [](const auto& row) { return Real{row.stats.seconds, 6}; }},
      {{"first_token_mean_seconds"}, [](const auto& row) { return block_latency(row, row.stats.first_token.mean()); }},
      {{"first_token_p50_seconds"},
       [](const auto& row) { return block_latency(row, row.stats.first_token.quantile(0.5)); }},
      {{"first_token_p99_seconds"},
       [](const auto& row) { return block_latency(row, row.stats.first_token.quantile(0.99)); }},
      {{"queueing_mean_seconds"}, [](const auto& row) { return block_latency(row, row.stats.queueing.mean()); }},
      {{"queueing_p99_seconds"}, [](const auto& row) { return block_latency(row, row.stats.queueing.quantile(0.99)); }},
      {{"copies"}, [](const auto& row) { return row.stats.copies.requests; }},
      {{"copies_hit_tokens"}, [](const auto& row) { return row.stats.copies.simulated_tokens; }},
      {{"copies_closed_form_tokens"}, [](const auto& row) { return row.stats.copies.predicted_tokens; }},
      {{"unlimited_hit_tokens"},
       [](const auto& row) { return row.cache.unlimited ? Cell(row.cache.unlimited->hit_tokens) : Cell(); }},
      {{"token_exact_hit_tokens"}, [](const auto& row) { return row.cache.token_exact_hit_tokens; }},
      {{"feasible_tokens"}, [](const auto& row) { return feasible_cell(row.cache); }},
      {{"upper_tokens"}, [](const auto& row) { return upper_cell(row.cache); }},
      Blocks::of<&SimulationStats::taken_prompt_tokens>({"taken_prompt_tokens"}),
      {{"modelled"}, block_modelled_names},
      {{"overloaded"},
       [](const auto& row) { return is_overloaded(row.answer.driver, row.stats); }},
      {{"why_no_hits"}, block_why_no_hits}};
  return fields;
}

}  // namespace

std::string mode_text(const CacheGeometry& geometry) {
  return geometry.state_groups == 0 ? "attention only" : std::string(to_string(geometry.said_mode()));
}

Table blocks_table(const SimulateAnswer& answer) { return Blocks::table(block_counters(), answer); }

}  // namespace hybridkv
