#include "cli/trace_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "cli/help_format.h"
#include "cli/offers.h"
#include "cli/values.h"
#include "scenarios/key_flags.h"

namespace hybridkv {

namespace {

std::int64_t simple_requests(const ScenarioOptions& options) {
  const FlagValue* const flag = flag_of(options, "simulate.trace.max_requests");
  if (flag == nullptr) return default_simple_requests;
  std::int64_t requests = 0;
  const char* const end = flag->value.data() + flag->value.size();
  const auto [stop, error] = std::from_chars(flag->value.data(), end, requests);
  if (error != std::errc() || stop != end || requests < 1)
    throw InputError(flag->shown + ": must be a whole number of requests, at least 1");
  return requests;
}

}  // namespace

CLI::Option* add_key(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* key,
                     const char* type, const char* doc) {
  return command
      .add_option_function<std::string>(
          flag,
          [&options, flag, key](const std::string& value) {
            options.flags.push_back({key, value, flag + " " + value});
          },
          doc)
      ->check(offers({{offered_words_of(key)}}))
      ->type_name(type);
}

CLI::Option* add_key(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* type,
                     const char* doc) {
  const std::string_view key = key_of_flag(replay_flags, flag);
  expects(!key.empty(), "the flag is one of replay_flags");
  return add_key(command, options, flag, key.data(), type, doc);
}

void add_switch(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* key,
                const char* value, const char* doc) {
  command.add_flag_callback(
      flag, [&options, flag, key, value] { options.flags.push_back({key, value, flag}); }, doc);
}

void add_trace_file_options(CLI::App& command, ScenarioOptions& options) {
  add_key(command, options, "--trace-form", "FORM",
          "mooncake, qwen, blocks, tokens, lookups, agentic or agentic_v2 (default: by the first line)");
  add_switch(command, options, "--skip-bad-lines", "simulate.trace.skip_bad_lines", "true",
             "count damaged lines instead of stopping at the first");
}

void add_trace_options(CLI::App& command, ScenarioOptions& options, SimpleTraffic& traffic) {
  command
      .add_option_function<std::string>(
          "--trace",
          [&options](const std::string& path) {
            options.flags.push_back({"simulate.trace", "{file: " + yaml_quoted(path) + "}", "--trace " + path});
          },
          "requests to replay, also .gz or .zst, - for standard input (default: the scenario's trace)")
      ->type_name("FILE");
  add_trace_file_options(command, options);
  add_key(command, options, "--seed", "SEED", "of the made-up trace (default: 1)");
  command
      .add_option("--prompt-tokens", traffic.prompt_tokens, "simple traffic instead of a trace: prompts of this length")
      ->transform(token_count())
      ->type_name("TOKENS");
  command
      .add_option("--shared-prefix-tokens", traffic.shared_prefix_tokens,
                  "simple traffic: how much of it all prompts share (default: all of it)")
      ->transform(token_count())
      ->type_name("TOKENS");
}

void add_replayed_trace(CLI::App& command, ScenarioOptions& options, SimpleTraffic& traffic) {
  const std::size_t first = command.get_options().size();
  add_trace_options(command, options, traffic);
  add_key(command, options, "--requests", "N",
          "only the first ones (default: all, of a made-up trace 10000, of simple traffic 300)");
  group_since(command, first, "The trace that is replayed");
}

void add_policy_options(CLI::App& command, ScenarioOptions& options) {
  add_key(command, options, "--eviction", "simulate.eviction", "POLICY",
          "what goes first: lru (the default, as in engines), prefixes, cost, frequency, second_chance, time_to_live "
          "or worth");
  add_key(command, options, "--checkpoint-back", "simulate.checkpoint_back", "N",
          "keep a prompt's last state N checkpoints before its last boundary (default: 0)");
}

void add_acceptance_option(CLI::App& command, ScenarioOptions& options) {
  add_key(command, options, "--acceptance", "simulate.acceptance", "CHANCE",
          "that a draft is right where those before it are, 0 to 1 (default: 0)");
}

void add_driver_options(CLI::App& command, ScenarioOptions& options) {
  add_key(command, options, "--driver", "DRIVER",
          "one_at_a_time (the default), closed_loop (--in-flight) or open_loop (by timestamps)");
  add_key(command, options, "--in-flight", "K",
          "closed loop: requests in flight (default: 64)");
  add_key(command, options, "--think-seconds", "S",
          "closed loop of users: from the end of a request to the next (default: 0)");
  add_key(command, options, "--prefill-seconds", "S",
          "time of a prefill token (default: 5e-5)");
  add_key(command, options, "--decode-seconds", "S",
          "time of a step in which anything decodes (default: 0.02)");
  add_key(command, options, "--copy-seconds", "S",
          "time of a copied state, per recurrent group (default: 1e-5)");
}

void apply_simple_traffic(ScenarioOptions& options, const SimpleTraffic& traffic) {
  if (!traffic.prompt_tokens) {
    if (traffic.shared_prefix_tokens)
      throw InputError("--shared-prefix-tokens needs --prompt-tokens, the length of the prompts");
    return;
  }
  if (const FlagValue* const trace = flag_of(options, "simulate.trace"))
    throw InputError(fmt::format("{}: --prompt-tokens describes the traffic; give one of the two", trace->shown));
  try {
    check_traffic(traffic);
  } catch (const SpecError& error) {
    const bool is_length = error.path() == "prompt_tokens";
    throw InputError(fmt::format("{} {}: {}", is_length ? "--prompt-tokens" : "--shared-prefix-tokens",
                                 is_length ? *traffic.prompt_tokens : *traffic.shared_prefix_tokens, error.message()));
  }
  const std::int64_t requests = simple_requests(options);
  const std::string shown = fmt::format("--prompt-tokens {}", *traffic.prompt_tokens);
  std::erase_if(options.flags, [](const FlagValue& flag) { return flag.key == "simulate.trace.max_requests"; });
  options.flags.push_back({"simulate.trace", traffic_yaml(traffic, requests), shown});
}

CommandWords replayed_words(const ScenarioOptions& options, const SimpleTraffic& traffic) {
  CommandWords words = command_words(options);
  for (const FlagValue& flag : options.flags) {
    const std::size_t space = flag.shown.find(' ');
    words.replay.push_back({flag.shown.substr(0, space),
                            space == std::string::npos ? std::string() : flag.shown.substr(space + 1)});
  }
  if (traffic.shared_prefix_tokens)
    words.replay.push_back({"--shared-prefix-tokens", std::to_string(*traffic.shared_prefix_tokens)});
  return words;
}

}  // namespace hybridkv
