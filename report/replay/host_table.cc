#include "report/replay/host_table.h"

#include <vector>

#include "report/field.h"

namespace hybridkv {

std::optional<Table> host_table(const SimulateAnswer& answer) {
  using Row = const SimulationStats*;
  const auto of = [](auto member) { return via(&SimulationStats::host, member); };
  const auto bytes = [&](auto member) { return as<ByteCount>(of(member)); };
  const auto of_held = [](auto part) {
    return [=](Row row) { return percent_of((*row->host).*part, row->host->held_bytes, 1); };
  };
  std::vector<Row> rows;
  for (const ReplayedCache& cache : answer.caches)
    if (cache.blocks().host) rows.push_back(&cache.blocks());
  if (rows.empty()) return std::nullopt;
  return table_of<Row>(
      {{{"name", "cache"}, via(&SimulationStats::geometry, &CacheGeometry::name)},
       {{"loaded_tokens", "loaded", "tokens"}, of(&HostStats::loaded_tokens)},
       {{"loaded_share", "of the", "prompts"},
        [](Row row) { return percent_of(row->host->loaded_tokens, row->prompt_tokens); }},
       {{"loads", "loads"}, of(&HostStats::loads)},
       {{"loaded_bytes", "loaded", "bytes"}, bytes(&HostStats::loaded_bytes)},
       {{"written_bytes", "written", "bytes"}, bytes(&HostStats::written_bytes)},
       {{"evicted_bytes", "evicted", "bytes"}, bytes(&HostStats::evicted_bytes)},
       {{"held_bytes", "held at", "the end"}, bytes(&HostStats::held_bytes)},
       {{"held_state_bytes", "of these", "states"}, of_held(&HostStats::held_state_bytes)},
       {{"dead_bytes", "dead"}, of_held(&HostStats::dead_bytes)},
       {{"load_seconds", "loading", "s"}, as<Real>(of(&HostStats::load_seconds), 3)}},
      rows);
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
