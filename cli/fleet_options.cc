#include "cli/fleet_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask/fleet/usual_network.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/offers.h"
#include "cli/values.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

std::vector<std::string> router_names() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : router_kind_names) names.emplace_back(name);
  return names;
}

/// "NAME=NUMBER" of a list.
struct Assigned {
  std::string name;
  double value = 0;
};

Assigned assigned(const char* flag, const std::string& text, const char* example) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const ParsedReal value = parse_real(sign == std::string::npos ? "" : text.substr(sign + 1));
  if (sign == std::string::npos || !value.problem.empty() || !(value.value >= 0))
    throw InputError(fmt::format("{} {}: write it like {}", flag, text, example));
  return {name, value.value};
}

void take_weights(const std::string& text, RouterSettings& router) {
  if (text.empty()) return;
  constexpr const char* flag = "--router-weights";
  const std::vector<std::string> known{"prefix", "queue", "usage"};
  for (const std::string& item : split_list(flag, text)) {
    const Assigned one = assigned(flag, item, "prefix=3,queue=2,usage=2");
    if (one.name == "prefix") router.prefix_weight = one.value;
    else if (one.name == "queue") router.queue_weight = one.value;
    else if (one.name == "usage") router.usage_weight = one.value;
    else
      throw InputError(fmt::format("{} {}: no such score; take some of {}{}", flag, item, fmt::join(known, ", "),
                                   did_you_mean(one.name, known)));
  }
}

std::int64_t replica_of(const char* flag, const std::string& item, const std::string& name,
                        const FleetOptions& options) {
  const ParsedNumber replica = parse_integer(name);
  if (!replica.problem.empty() || replica.value < 0 || replica.value >= options.replicas)
    throw InputError(fmt::format("{} {}: there is no replica {}, they are 0 to {}", flag, item, name,
                                 options.replicas - 1));
  return replica.value;
}

std::vector<double> slowness_of(const FleetOptions& options) {
  std::vector<double> slowness;
  for (const std::string& item : options.slow) {
    const Assigned one = assigned("--slow", item, "0=1.5: the replica, from 0, and how many times as long it takes");
    const auto replica = static_cast<std::size_t>(replica_of("--slow", item, one.name, options));
    if (one.value == 0) throw InputError(fmt::format("--slow {}: must be above 0", item));
    if (slowness.size() <= replica) slowness.resize(replica + 1, 1);
    slowness[replica] = one.value;
  }
  return slowness;
}

std::vector<Outage> outages_of(const FleetOptions& options) {
  std::vector<Outage> outages;
  for (const std::string& item : options.down) {
    const std::size_t sign = item.find('@');
    if (sign == std::string::npos)
      throw InputError(fmt::format("--down {}: write it like 0@60s, or 0@60s-90s with when it is back", item));
    Outage outage{.replica = replica_of("--down", item, item.substr(0, sign), options)};
    const std::string times = item.substr(sign + 1);
    const std::size_t dash = times.find('-');
    outage.from = duration_of("--down", times.substr(0, dash));
    if (dash != std::string::npos) outage.until = duration_of("--down", times.substr(dash + 1));
    if (outage.until <= outage.from) throw InputError(fmt::format("--down {}: is back before it is down", item));
    outages.push_back(outage);
  }
  return outages;
}

}  // namespace

void add_fleet_options(CLI::App& command, FleetOptions& options) {
  command.add_option("--replicas", options.replicas, "so many of them behind a router (docs/fleet.md)")
      ->check(whole_number(1, most_replicas))
      ->type_name("R");
  add_list(command, "--router", options.routers,
           "who gets a request; a list tries each (default: round-robin,approximate,precise,states)", "NAMES",
           one_of(router_names()));
  command
      .add_option("--router-block", options.block_tokens,
                  "tokens of a block that the router counts in (default: what the engine matches by)")
      ->transform(token_count())
      ->type_name("TOKENS");
  command.add_option("--router-delay", options.delay, "until an event is heard: 100ms (default: at once)")
      ->type_name("TIME");
  command.add_option("--router-weights", options.weights, "of its scores (default: prefix=3,queue=2,usage=2)")
      ->type_name("NAME=N,…");
  add_list(command, "--slow", options.slow, "a replica, from 0, whose steps take so many times as long: 0=1.5",
           "REPLICA=N", any_text());
  add_list(command, "--down", options.down, "a replica that fails, and may come back: 0@60s, 0@60s-90s",
           "REPLICA@TIME", any_text());
  command
      .add_option("--decode-replicas", options.decode_replicas,
                  "so many more that generate, behind prompts that the others compute; with --gpu")
      ->check(whole_number(1, most_replicas))
      ->type_name("D");
  command.add_option("--link", options.link, "of a GPU, over which caches are handed over (default: 50GB/s)")
      ->type_name("BYTES/s");
}

std::optional<FleetQuestion> fleet_question(const FleetOptions& options, std::uint64_t seed, bool has_blocks) {
  if (options.replicas == 0) {
    for (const auto& [flag, given] : {std::pair{"--router", !options.routers.empty()},
                                      {"--router-block", options.block_tokens.has_value()},
                                      {"--router-delay", !options.delay.empty()},
                                      {"--router-weights", !options.weights.empty()},
                                      {"--slow", !options.slow.empty()},
                                      {"--down", !options.down.empty()},
                                      {"--decode-replicas", options.decode_replicas > 0},
                                      {"--link", !options.link.empty()}})
      if (given) throw InputError(fmt::format("{} belongs to several replicas; say how many by --replicas R", flag));
    return std::nullopt;
  }
  RouterSettings router{.seed = seed, .block_tokens = options.block_tokens};
  if (!options.delay.empty()) router.delay_seconds = duration_of("--router-delay", options.delay);
  take_weights(options.weights, router);
  FleetQuestion question{.replicas = options.replicas,
                         .routers = {},
                         .slowness = slowness_of(options),
                         .outages = outages_of(options)};
  if (options.decode_replicas > 0) {
    question.decode = {options.decode_replicas, usual_network_bytes_per_second};
    if (!options.link.empty()) question.decode.link_bytes_per_second = link_speed_of("--link", options.link);
  } else if (!options.link.empty()) {
    throw InputError("--link belongs to replicas that generate behind others; say how many by --decode-replicas D");
  }
  std::vector<std::string> names = options.routers;
  if (names.empty()) {
    names = {"round-robin", "approximate", "gateway"};
    if (has_blocks) names = {"round-robin", "approximate", "precise", "states"};
  }
  for (const std::string& name : names) {
    router.kind = *parse_router_kind(name);
    question.routers.push_back(router);
  }
  return question;
}

const char* fleet_flag(std::string_view path) {
  if (path == "router.block_tokens") return "--router-block";
  if (path == "router.delay_seconds") return "--router-delay";
  if (path.starts_with("router.") && path.ends_with("_weight")) return "--router-weights";
  if (path.starts_with("router.")) return "--router";
  if (path == "fleet.outages") return "--down";
  if (path == "fleet.slowness") return "--slow";
  if (path == "fleet.decode") return "--decode-replicas";
  if (path == "fleet.link") return "--link";
  return path.starts_with("fleet.") ? "--replicas" : nullptr;
}

}  // namespace hybridkv
