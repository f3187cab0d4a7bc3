#include "report/replay/host_table.h"

#include <algorithm>

namespace hybridkv {

std::optional<Table> host_table(const SimulateAnswer& answer) {
  const auto& all = answer.caches;
  if (std::none_of(all.begin(), all.end(), [](const ReplayedCache& cache) { return cache.blocks().host.has_value(); }))
    return std::nullopt;
  Table table({{"name", "cache", "", Align::left},
               {"loaded_tokens", "loaded", "tokens"},
               {"loaded_share", "of the", "prompts"},
               {"loads", "loads"},
               {"loaded_bytes", "loaded", "bytes"},
               {"written_bytes", "written", "bytes"},
               {"evicted_bytes", "evicted", "bytes"},
               {"held_bytes", "held at", "the end"},
               {"held_state_bytes", "of these", "states"},
               {"dead_bytes", "dead"},
               {"load_seconds", "loading", "s"}});
  for (const ReplayedCache& cache : all) {
    const SimulationStats& stats = cache.blocks();
    if (!stats.host) continue;
    const HostStats& host = *stats.host;
    table.add_row({stats.geometry.name, host.loaded_tokens, percent_of(host.loaded_tokens, stats.prompt_tokens),
                   host.loads, ByteCount{host.loaded_bytes}, ByteCount{host.written_bytes},
                   ByteCount{host.evicted_bytes}, ByteCount{host.held_bytes},
                   percent_of(host.held_state_bytes, host.held_bytes, 1),
                   percent_of(host.dead_bytes, host.held_bytes, 1), Real{host.load_seconds, 3}});
  }
  return table;
}

nlohmann::ordered_json host_json(const SimulationStats& stats) {
  if (!stats.host) return {};
  const HostSettings& settings = *stats.geometry.host;
  const HostStats& host = *stats.host;
  nlohmann::ordered_json json;
  json["memory_bytes"] = *settings.memory_bytes;
  json["state_share"] = settings.state_share ? nlohmann::ordered_json(*settings.state_share) : nlohmann::ordered_json();
  json["write"] = to_string(settings.write);
  json["bytes_per_second"] = settings.bytes_per_second;
  json["loaded_tokens"] = host.loaded_tokens;
  json["loads"] = host.loads;
  json["loads_without_room"] = host.loads_without_room;
  json["loaded_bytes"] = host.loaded_bytes;
  json["written_bytes"] = host.written_bytes;
  json["evicted_bytes"] = host.evicted_bytes;
  json["held_bytes"] = host.held_bytes;
  json["held_state_bytes"] = host.held_state_bytes;
  json["dead_bytes"] = host.dead_bytes;
  json["load_seconds"] = host.load_seconds;
  return json;
}

}  // namespace hybridkv
