#include "scenarios/fleet_keys.h"

#include <utility>

#include "scenarios/key_builders.h"

namespace hybridkv {

namespace {

/// A replica whose steps take longer, as a scenario writes it.
struct SlowReplica {
  std::int64_t replica = 0;
  double times = 1;
};

KeyInfo replica_key() { return required(count("replica", "which of them, from 0", 0)); }

const Section<SlowReplica>& slow_keys() {
  static const Section<SlowReplica> section = [] {
    Section<SlowReplica> keys("a slow replica", "a replica whose steps take longer");
    keys.integer(replica_key(), &SlowReplica::replica)
        .number(required(key("times", "how many times as long as those of others, above 0")), &SlowReplica::times)
        .check([](const std::string& path, const YamlNode& node, const SlowReplica& slow) {
          if (!(slow.times > 0)) fail_at(node.find("times")->place, "{}.times: is above 0", path);
        });
    return keys;
  }();
  return section;
}

const Section<Outage>& outage_keys() {
  static const Section<Outage> section = [] {
    Section<Outage> keys("an outage", "a replica that fails, and may come back");
    keys.integer(replica_key(), &Outage::replica)
        .number(required(key("from_seconds", "when it fails")), &Outage::from)
        .number(key("until_seconds", "when it is back, with nothing cached; default: never"), &Outage::until)
        .check([](const std::string& path, const YamlNode& node, const Outage& outage) {
          if (outage.until <= outage.from)
            fail_at(node.find("until_seconds")->place, "{}.until_seconds: is back before it is down", path);
        });
    return keys;
  }();
  return section;
}

/// Replicas that are named are some of those there are.
void check_replicas(const std::string& path, const YamlNode& node, const FleetQuestion& question) {
  const auto refuse = [&](const char* list, std::int64_t replica) {
    fail_at(node.find(list)->place, "{}.{}: there is no replica {}, they are 0 to {}", path, list, replica,
            question.replicas - 1);
  };
  if (std::ssize(question.slowness) > question.replicas) refuse("slow", std::ssize(question.slowness) - 1);
  for (const Outage& outage : question.outages)
    if (outage.replica >= question.replicas) refuse("down", outage.replica);
}

void add_replica_keys(Section<FleetQuestion>& keys) {
  KeyInfo replicas = required(count("replicas", "how many; those that generate alone (decode_replicas) come on top"));
  replicas.maximum = most_replicas;
  keys.integer(std::move(replicas), &FleetQuestion::replicas);
  KeyInfo slow = key("slow", "those whose steps take longer; default: none");
  slow.type = ValueType::sections;
  slow.section = &slow_keys().info();
  keys.add(std::move(slow), [](ReadContext& context, const std::string& path, const YamlNode& node,
                               FleetQuestion& question) {
    for (const SlowReplica& one : read_sections(context, path, node, slow_keys())) {
      const auto place = static_cast<std::size_t>(one.replica);
      if (question.slowness.size() <= place) question.slowness.resize(place + 1, 1);
      question.slowness[place] = one.times;
    }
  });
  keys.sections(key("down", "those that fail; default: none"), &FleetQuestion::outages, outage_keys());
}

void add_router_keys(Section<FleetQuestion>& keys) {
  keys.choices_by(with_choices(key("router", "who gets a request; of several each is tried; default: some that differ"),
                               names_of(router_kind_names)),
                  [](FleetQuestion& question, const std::vector<std::string>& words) {
                    question.routers.clear();
                    for (const std::string& word : words) question.routers.push_back(*parse_router_kind(word));
                  });
  keys.integer_by(sets(tokens("router_block_tokens", "of a block that the router counts in; default: what the engine "
                                                     "matches by"),
                       {"block_tokens"}),
                  [](FleetQuestion& question, std::int64_t value) { question.router.block_tokens = value; });
  const auto number = [&](KeyInfo info, double RouterSettings::*field) {
    keys.number_by(std::move(info),
                   [field](FleetQuestion& question, double value) { question.router.*field = value; });
  };
  number(sets(key("router_delay_seconds", "until it hears of what a cache holds; default 0"), {"delay_seconds"}),
         &RouterSettings::delay_seconds);
  number(key("prefix_weight", "of the share of the prompt that is matched, in its scores; default 3"),
         &RouterSettings::prefix_weight);
  number(key("queue_weight", "of how few requests are in flight there; default 2"), &RouterSettings::queue_weight);
  number(key("usage_weight", "of how little of the memory requests hold; default 2"), &RouterSettings::usage_weight);
}

void add_decode_keys(Section<FleetQuestion>& keys) {
  KeyInfo replicas = count("decode_replicas", "so many more that generate, behind prompts that the others compute; "
                                              "default: whoever computes a prompt generates behind it");
  replicas.maximum = most_replicas;
  keys.integer_by(std::move(replicas),
                  [](FleetQuestion& question, std::int64_t value) { question.decode.replicas = value; });
  keys.number_by(key("link_bandwidth", "GB a second of a GPU, over which caches are handed over; default 50"),
                 [](FleetQuestion& question, double value) { question.decode.link_bytes_per_second = value * 1e9; });
}

}  // namespace

const Section<FleetQuestion>& fleet_keys() {
  static const Section<FleetQuestion> section = [] {
    Section<FleetQuestion> keys("simulate.fleet", "replicas behind a router, as `simulate` replays them and `bound` "
                                                  "bounds them; all else is of one (docs/fleet.md)");
    add_replica_keys(keys);
    add_router_keys(keys);
    add_decode_keys(keys);
    keys.check(check_replicas);
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
