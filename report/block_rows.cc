#include "report/block_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/upper_bounds.h"

namespace hybridkv {

namespace {

/// Only the open loop has arrivals to wait since.
Cell block_latency(const BlockRow& row, double seconds) {
  return row.answer.driver.kind == DriverKind::open_loop ? Cell(Real{seconds, 6}) : Cell();
}

Cell block_modelled_names(const BlockRow& row) {
  std::vector<std::string> rules;
  for (const ModelledRule rule : row.stats.modelled) rules.emplace_back(to_string(rule));
  return fmt::format("{}", fmt::join(rules, ", "));
}

const std::vector<BlockField>& block_counters() {
  static const std::vector<BlockField> fields{
      name_of_blocks(),
      of_geometry<&CacheGeometry::block_size_tokens>({"block_size_tokens", "block"}),
      of_geometry<&CacheGeometry::num_blocks>({"num_blocks", "blocks"}),
      of_geometry<&CacheGeometry::attention_groups>({"attention_groups", "attention groups"}),
      of_geometry<&CacheGeometry::state_groups>({"state_groups", "state groups"}),
      {{"mode", "mode"}, [](const BlockRow& row) { return Cell(mode_text(row.geometry)); }},
      {{"match_unit_tokens", "match unit"}, [](const BlockRow& row) { return Cell(row.geometry.match_unit()); }},
      of_blocks<&SimulationStats::requests>({"requests", "requests"}),
      of_blocks<&SimulationStats::prompt_tokens>({"prompt_tokens", "prompt tokens"}),
      of_blocks<&SimulationStats::hit_tokens>({"hit_tokens", "hit tokens"}),
      {{"hit_rate", "hit rate"}, [](const BlockRow& row) { return Cell(Real{row.stats.hit_rate(), 6}); }},
      of_blocks<&SimulationStats::requests_with_hit>({"requests_with_hit", "requests with a hit"}),
      of_blocks<&SimulationStats::checkpoints_made>({"checkpoints_made", "checkpoints made"}),
      of_blocks<&SimulationStats::checkpoints_used>({"checkpoints_used", "checkpoints used"}),
      of_blocks<&SimulationStats::checkpoints_evicted>({"checkpoints_evicted", "checkpoints evicted"}),
      {{"evictions", "evictions"}, [](const BlockRow& row) { return Cell(row.stats.pool.evictions); }},
      of_blocks<&SimulationStats::max_held_blocks>({"max_held_blocks", "most blocks held"}),
      of_blocks<&SimulationStats::max_held_state_blocks>({"max_held_state_blocks", "most state blocks held"}),
      of_blocks<&SimulationStats::max_running>({"max_running", "most running"}),
      {{"max_model_len", "max model len"}, [](const BlockRow& row) { return cell_of(row.cache.max_model_len); }},
      of_blocks<&SimulationStats::too_long>({"too_long", "refused as too long"}),
      of_blocks<&SimulationStats::cut_outputs>({"cut_outputs", "outputs cut at max model len"}),
      of_blocks<&SimulationStats::refused>({"refused", "refused"}),
      of_blocks<&SimulationStats::stalled>({"stalled", "stalled"}),
      of_blocks<&SimulationStats::preemptions>({"preemptions", "preemptions"}),
      of_blocks<&SimulationStats::preempted_requests>({"preempted_requests", "preempted requests"}),
      of_blocks<&SimulationStats::reprefilled_tokens>({"reprefilled_tokens", "tokens prefilled again"}),
      {{"longest_request", "longest request"},
       [](const BlockRow& row) { return Cell(Length{row.cache.longest_request.value_or(0)}); }},
      of_blocks<&SimulationStats::generated_tokens>({"generated_tokens", "generated tokens"}),
      of_blocks<&SimulationStats::prefill_chunks>({"prefill_chunks", "prefill chunks"}),
      of_blocks<&SimulationStats::copied_states>({"copied_states", "copied states"}),
      of_blocks<&SimulationStats::steps>({"steps", "steps"}),
      {{"seconds", "simulated seconds"}, [](const BlockRow& row) { return Cell(Real{row.stats.seconds, 6}); }},
      {{"first_token_mean_seconds", "mean s to first token"},
       [](const BlockRow& row) { return block_latency(row, row.stats.first_token.mean()); }},
      {{"first_token_p50_seconds", "p50"},
       [](const BlockRow& row) { return block_latency(row, row.stats.first_token.quantile(0.5)); }},
      {{"first_token_p99_seconds", "p99"},
       [](const BlockRow& row) { return block_latency(row, row.stats.first_token.quantile(0.99)); }},
      {{"queueing_mean_seconds", "mean s queueing"},
       [](const BlockRow& row) { return block_latency(row, row.stats.queueing.mean()); }},
      {{"queueing_p99_seconds", "p99"},
       [](const BlockRow& row) { return block_latency(row, row.stats.queueing.quantile(0.99)); }},
      {{"copies", "exact copies"}, [](const BlockRow& row) { return Cell(row.stats.copies.requests); }},
      {{"copies_hit_tokens", "hit tokens of copies"},
       [](const BlockRow& row) { return Cell(row.stats.copies.simulated_tokens); }},
      {{"copies_closed_form_tokens", "closed form of those"},
       [](const BlockRow& row) { return Cell(row.stats.copies.predicted_tokens); }},
      {{"unlimited_hit_tokens", "hit tokens, unlimited pool"},
       [](const BlockRow& row) { return row.cache.unlimited ? Cell(row.cache.unlimited->hit_tokens) : Cell(); }},
      {{"token_exact_hit_tokens", "hit tokens, token-exact"},
       [](const BlockRow& row) { return cell_of(row.cache.token_exact_hit_tokens); }},
      {{"feasible_tokens", "possible tokens"}, [](const BlockRow& row) { return feasible_cell(row.cache); }},
      {{"upper_tokens", "tokens that no policy passes"}, [](const BlockRow& row) { return upper_cell(row.cache); }},
      of_blocks<&SimulationStats::taken_prompt_tokens>({"taken_prompt_tokens", "whole of all shares"}),
      {{"modelled", "modelled rules"}, block_modelled_names},
      {{"overloaded", "overloaded"},
       [](const BlockRow& row) { return cell_of(is_overloaded(row.answer.driver, row.stats)); }}};
  return fields;
}

}  // namespace

std::vector<BlockRow> block_rows(const SimulateAnswer& answer) {
  std::vector<BlockRow> rows;
  for (const ReplayedCache& cache : answer.caches)
    rows.push_back({answer, cache, cache.blocks(), cache.blocks().geometry});
  return rows;
}

BlockField name_of_blocks() {
  return {{"name", "cache", "", Align::left}, [](const BlockRow& row) { return Cell(row.cache.name); }};
}

std::string mode_text(const CacheGeometry& geometry) {
  return geometry.state_groups == 0 ? "attention only" : std::string(to_string(geometry.mode));
}

Table blocks_table(const SimulateAnswer& answer) { return table_of(block_counters(), block_rows(answer)); }

}  // namespace hybridkv
