#include "report/replay/block_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

const Blocks::List& block_counters() {
  static const Blocks::List fields{
      Blocks::name(),
      Blocks::geometry<&CacheGeometry::block_size_tokens>({"block_size_tokens", "block"}),
      Blocks::geometry<&CacheGeometry::num_blocks>({"num_blocks", "blocks"}),
      Blocks::geometry<&CacheGeometry::attention_groups>({"attention_groups", "attention groups"}),
      Blocks::geometry<&CacheGeometry::state_groups>({"state_groups", "state groups"}),
      {{"mode", "mode"}, [](const Blocks::Row& row) { return Cell(mode_text(row.stats.geometry)); }},
      {{"match_unit_tokens", "match unit"},
       [](const Blocks::Row& row) { return Cell(row.stats.geometry.match_unit()); }},
      Blocks::of<&SimulationStats::requests>({"requests", "requests"}),
      Blocks::of<&SimulationStats::prompt_tokens>({"prompt_tokens", "prompt tokens"}),
      Blocks::of<&SimulationStats::hit_tokens>({"hit_tokens", "hit tokens"}),
      {{"hit_rate", "hit rate"}, [](const Blocks::Row& row) { return Cell(Real{row.stats.hit_rate(), 6}); }},
      Blocks::of<&SimulationStats::requests_with_hit>({"requests_with_hit", "requests with a hit"}),
      Blocks::of<&SimulationStats::checkpoints_made>({"checkpoints_made", "checkpoints made"}),
      Blocks::of<&SimulationStats::checkpoints_used>({"checkpoints_used", "checkpoints used"}),
      Blocks::of<&SimulationStats::checkpoints_evicted>({"checkpoints_evicted", "checkpoints evicted"}),
      {{"evictions", "evictions"}, [](const Blocks::Row& row) { return Cell(row.stats.pool.evictions); }},
      Blocks::of<&SimulationStats::max_held_blocks>({"max_held_blocks", "most blocks held"}),
      Blocks::of<&SimulationStats::max_held_state_blocks>({"max_held_state_blocks", "most state blocks held"}),
      Blocks::of<&SimulationStats::max_running>({"max_running", "most running"}),
      {{"max_model_len", "max model len"}, [](const Blocks::Row& row) { return cell_of(row.cache.max_model_len); }},
      Blocks::of<&SimulationStats::too_long>({"too_long", "refused as too long"}),
      Blocks::of<&SimulationStats::cut_outputs>({"cut_outputs", "outputs cut at max model len"}),
      Blocks::of<&SimulationStats::refused>({"refused", "refused"}),
      Blocks::of<&SimulationStats::stalled>({"stalled", "stalled"}),
      Blocks::of<&SimulationStats::preemptions>({"preemptions", "preemptions"}),
      Blocks::of<&SimulationStats::preempted_requests>({"preempted_requests", "preempted requests"}),
      Blocks::of<&SimulationStats::reprefilled_tokens>({"reprefilled_tokens", "tokens prefilled again"}),
      {{"longest_request", "longest request"},
       [](const Blocks::Row& row) { return Cell(Length{row.cache.longest_request.value_or(0)}); }},
      Blocks::of<&SimulationStats::generated_tokens>({"generated_tokens", "generated tokens"}),
      Blocks::of<&SimulationStats::prefill_chunks>({"prefill_chunks", "prefill chunks"}),
      Blocks::of<&SimulationStats::copied_states>({"copied_states", "copied states"}),
      Blocks::of<&SimulationStats::steps>({"steps", "steps"}),
      {{"seconds", "simulated seconds"}, [](const Blocks::Row& row) { return Cell(Real{row.stats.seconds, 6}); }},
      {{"first_token_mean_seconds", "mean s to first token"},
       [](const Blocks::Row& row) { return block_latency(row, row.stats.first_token.mean()); }},
      {{"first_token_p50_seconds", "p50"},
       [](const Blocks::Row& row) { return block_latency(row, row.stats.first_token.quantile(0.5)); }},
      {{"first_token_p99_seconds", "p99"},
       [](const Blocks::Row& row) { return block_latency(row, row.stats.first_token.quantile(0.99)); }},
      {{"queueing_mean_seconds", "mean s queueing"},
       [](const Blocks::Row& row) { return block_latency(row, row.stats.queueing.mean()); }},
      {{"queueing_p99_seconds", "p99"},
       [](const Blocks::Row& row) { return block_latency(row, row.stats.queueing.quantile(0.99)); }},
      {{"copies", "exact copies"}, [](const Blocks::Row& row) { return Cell(row.stats.copies.requests); }},
      {{"copies_hit_tokens", "hit tokens of copies"},
       [](const Blocks::Row& row) { return Cell(row.stats.copies.simulated_tokens); }},
      {{"copies_closed_form_tokens", "closed form of those"},
       [](const Blocks::Row& row) { return Cell(row.stats.copies.predicted_tokens); }},
      {{"unlimited_hit_tokens", "hit tokens, unlimited pool"},
       [](const Blocks::Row& row) { return row.cache.unlimited ? Cell(row.cache.unlimited->hit_tokens) : Cell(); }},
      {{"token_exact_hit_tokens", "hit tokens, token-exact"},
       [](const Blocks::Row& row) { return cell_of(row.cache.token_exact_hit_tokens); }},
      {{"feasible_tokens", "possible tokens"}, [](const Blocks::Row& row) { return feasible_cell(row.cache); }},
      {{"upper_tokens", "tokens that no policy passes"}, [](const Blocks::Row& row) { return upper_cell(row.cache); }},
      Blocks::of<&SimulationStats::taken_prompt_tokens>({"taken_prompt_tokens", "whole of all shares"}),
      {{"modelled", "modelled rules"}, block_modelled_names},
      {{"overloaded", "overloaded"},
       [](const Blocks::Row& row) { return cell_of(is_overloaded(row.answer.driver, row.stats)); }}};
  return fields;
}

}  // namespace

std::string mode_text(const CacheGeometry& geometry) {
  return geometry.state_groups == 0 ? "attention only" : std::string(to_string(geometry.mode));
}

Table blocks_table(const SimulateAnswer& answer) { return Blocks::table(block_counters(), answer); }

}  // namespace hybridkv
