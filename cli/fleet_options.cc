#include "cli/fleet_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/suggest.h"
#include "cli/offers.h"
#include "cli/values.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

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

std::int64_t replica_of(const char* flag, const std::string& item, const std::string& name, std::int64_t replicas) {
  const ParsedNumber replica = parse_integer(name);
  if (!replica.problem.empty() || replica.value < 0 || replica.value >= replicas)
    throw InputError(fmt::format("{} {}: there is no replica {}, they are 0 to {}", flag, item, name, replicas - 1));
  return replica.value;
}

std::vector<double> slowness_of(const FleetOptions& options, std::int64_t replicas) {
  std::vector<double> slowness;
  for (const std::string& item : options.slow) {
    const Assigned one = assigned("--slow", item, "0=1.5: the replica, from 0, and how many times as long it takes");
    const auto replica = static_cast<std::size_t>(replica_of("--slow", item, one.name, replicas));
    if (one.value == 0) throw InputError(fmt::format("--slow {}: must be above 0", item));
    if (slowness.size() <= replica) slowness.resize(replica + 1, 1);
    slowness[replica] = one.value;
  }
  return slowness;
}

std::vector<Outage> outages_of(const FleetOptions& options, std::int64_t replicas) {
  std::vector<Outage> outages;
  for (const std::string& item : options.down) {
    const std::size_t sign = item.find('@');
    if (sign == std::string::npos)
      throw InputError(fmt::format("--down {}: write it like 0@60s, or 0@60s-90s with when it is back", item));
    Outage outage{.replica = replica_of("--down", item, item.substr(0, sign), replicas)};
    const std::string times = item.substr(sign + 1);
    const std::size_t dash = times.find('-');
    outage.from = duration_of("--down", times.substr(0, dash));
    if (dash != std::string::npos) outage.until = duration_of("--down", times.substr(dash + 1));
    if (outage.until <= outage.from) throw InputError(fmt::format("--down {}: is back before it is down", item));
    outages.push_back(outage);
  }
  return outages;
}

/// A flag, whether it was given, and the path of a SpecError about what it sets.
struct FleetFlag {
  const char* flag;
  bool is_given;
  std::string_view path;
};

/// All of them; --replicas comes last.
std::vector<FleetFlag> fleet_flags(const FleetOptions& options) {
  const bool has_weights = !options.weights.empty();
  return {{"--router", !options.routers.empty(), "fleet.router"},
          {"--router-block", options.block_tokens.has_value(), "router.block_tokens"},
          {"--router-delay", !options.delay.empty(), "router.delay_seconds"},
          {"--router-weights", has_weights, "router.prefix_weight"},
          {"--router-weights", has_weights, "router.queue_weight"},
          {"--router-weights", has_weights, "router.usage_weight"},
          {"--slow", !options.slow.empty(), "fleet.slow"},
          {"--down", !options.down.empty(), "fleet.down"},
          {"--decode-replicas", options.decode_replicas > 0, "fleet.decode_replicas"},
          {"--link", !options.link.empty(), "fleet.link_bandwidth"},
          {"--replicas", options.replicas > 0, "fleet.replicas"}};
}

/// The first flag that was given; null where none was.
const char* first_given(const FleetOptions& options) {
  for (const FleetFlag& one : fleet_flags(options))
    if (one.is_given) return one.flag;
  return nullptr;
}

}  // namespace

void add_fleet_options(CLI::App& command, FleetOptions& options) {
  command.add_option("--replicas", options.replicas, "so many of them behind a router (docs/fleet.md)")
      ->check(whole_number(1, most_replicas))
      ->type_name("R");
  add_list(command, "--router", options.routers,
           "who gets a request; a list tries each (default: round-robin,approximate,precise,states)", "NAMES",
           one_of(names_of(router_kind_names)));
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

bool is_given(const FleetOptions& options) { return first_given(options) != nullptr; }

void lay_over(FleetQuestion& question, const FleetOptions& options) {
  if (options.replicas > 0) question.replicas = options.replicas;
  if (const char* const flag = first_given(options); flag && !question.is_asked())
    throw InputError(fmt::format("{} belongs to several replicas; say how many by --replicas R", flag));
  if (!options.routers.empty()) question.routers.clear();
  for (const std::string& name : options.routers) question.routers.push_back(*parse_router_kind(name));
  if (options.block_tokens) question.router.block_tokens = options.block_tokens;
  if (!options.delay.empty()) question.router.delay_seconds = duration_of("--router-delay", options.delay);
  take_weights(options.weights, question.router);
  if (!options.slow.empty()) question.slowness = slowness_of(options, question.replicas);
  if (!options.down.empty()) question.outages = outages_of(options, question.replicas);
  if (options.decode_replicas > 0) question.decode.replicas = options.decode_replicas;
  if (!options.link.empty()) question.decode.link_bytes_per_second = link_speed_of("--link", options.link);
  if (!options.link.empty() && question.decode.replicas == 0)
    throw InputError("--link belongs to replicas that generate behind others; say how many by --decode-replicas D");
}

const char* given_fleet_flag(std::string_view path, const FleetOptions& options) {
  for (const FleetFlag& one : fleet_flags(options))
    if (one.path == path && one.is_given) return one.flag;
  return nullptr;
}

}  // namespace hybridkv
