#include "cli/radix_options.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/error.h"
#include "cli/values.h"

namespace hybridkv {

bool is_given(const RadixOptions& options) { return !options.token_slots.empty() || !options.state_slots.empty(); }

const char* radix_flag(std::string_view field) {
  constexpr std::pair<const char*, const char*> flags[] = {{"token_slots", "--token-slots"},
                                                           {"state_slots", "--state-slots"},
                                                           {"page", "--page-size"},
                                                           {"strategy", "--radix-strategy"},
                                                           {"chunk_tokens", "--max-batched-tokens"},
                                                           {"model_chunk", "--scan-chunk"},
                                                           {"track_interval", "--track-interval"},
                                                           {"max_states_per_path", "--states-per-path"},
                                                           {"overlap", "--no-overlap"}};
  for (const auto& [name, flag] : flags)
    if (field == name) return flag;
  return nullptr;
}

void add_radix_options(CLI::App& command, RadixOptions& options) {
  const CLI::Validator any_count =
      whole_number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  add_list(command, "--token-slots", options.token_slots, "tokens that the pool of K and V holds, one or a list",
           "TOKENS", any_count);
  add_list(command, "--state-slots", options.state_slots,
           "states that the other pool holds, one or a list (default: there are no recurrent layers)", "SLOTS",
           any_count);
  command.add_option("--page-size", options.page_size, "tokens of a page (default: 1)")->type_name("TOKENS");
  command
      .add_option("--radix-strategy", options.strategy,
                  "no_buffer, extra_buffer or extra_buffer_lazy (default: extra_buffer)")
      ->check(one_of({"no_buffer", "extra_buffer", "extra_buffer_lazy"}))
      ->type_name("NAME");
  command.add_option("--scan-chunk", options.scan_chunk, "tokens of a chunk of the model's scan (default: 64)")
      ->type_name("TOKENS");
  command
      .add_option("--track-interval", options.track_interval,
                  "tokens between the states that a decode leaves (default: 256)")
      ->type_name("TOKENS");
  command
      .add_option("--states-per-path", options.states_per_path,
                  "most states from the root to a node, -1 for no limit (default: -1)")
      ->type_name("N");
  command.add_flag("--no-overlap", options.no_overlap, "steps do not overlap: one tracking slot instead of two");
  command.add_flag("--step-ahead", options.step_ahead,
                   "the step behind a request's last runs before its end is known, as overlap has it (read)");
}

void refuse_radix_settings(const RadixOptions& options, std::string_view instead) {
  struct Setting {
    bool is_given;
    const char* flag;
    const char* of_plan;  // what sets it in a plan, where something does
  };
  const Setting settings[] = {
      {options.page_size.has_value(), "--page-size", "engine.page_size=TOKENS"},
      {!options.strategy.empty(), "--radix-strategy", "engine.mamba_radix_cache_strategy=NAME"},
      {options.scan_chunk.has_value(), "--scan-chunk", nullptr},
      {options.track_interval.has_value(), "--track-interval", "engine.mamba_track_interval=TOKENS"},
      {options.states_per_path.has_value(), "--states-per-path", nullptr},
      {options.no_overlap, "--no-overlap", "engine.overlap_schedule=false"},
      {options.step_ahead, "--step-ahead", nullptr}};
  for (const Setting& setting : settings) {
    if (!setting.is_given) continue;
    if (!instead.empty())
      throw InputError(fmt::format("{} belongs to --token-slots, not to {}", setting.flag, instead));
    throw InputError(fmt::format("{} belongs to --token-slots, {}", setting.flag,
                                 setting.of_plan ? fmt::format("in a plan it is --set {}", setting.of_plan)
                                                 : "a plan has no such setting"));
  }
}

std::vector<RadixCache> described_radix_caches(const RadixOptions& options, std::optional<std::int64_t> chunk_tokens,
                                               std::optional<std::int64_t> max_model_len) {
  if (options.token_slots.empty())
    throw InputError("--state-slots describes a cache together with --token-slots; give both, or a scenario");
  RadixSettings settings;
  settings.page = options.page_size.value_or(settings.page);
  settings.chunk_tokens = chunk_tokens.value_or(settings.chunk_tokens);
  settings.model_chunk = options.scan_chunk.value_or(settings.model_chunk);
  settings.track_interval = options.track_interval.value_or(settings.track_interval);
  settings.max_states_per_path = options.states_per_path.value_or(settings.max_states_per_path);
  settings.overlap = !options.no_overlap;
  settings.step_ahead = options.step_ahead;
  if (!options.strategy.empty()) settings.strategy = *parse_radix_strategy(options.strategy);
  std::vector<RadixCache> caches;
  for (const std::int64_t tokens : options.token_slots)
    for (const std::int64_t states : options.state_slots.empty() ? std::vector<std::int64_t>{0} : options.state_slots) {
      RadixCache& cache = caches.emplace_back(RadixCache{.settings = settings, .max_model_len = max_model_len});
      cache.settings.token_slots = tokens;
      cache.settings.state_slots = states;
      cache.name = states > 0 ? fmt::format("{} + {} {}", tokens, states, to_string(settings.strategy))
                              : fmt::format("{} attention only", tokens);
    }
  return caches;
}

}  // namespace hybridkv
