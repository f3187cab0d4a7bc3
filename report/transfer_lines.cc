#include "report/transfer_lines.h"

#include <fmt/format.h>

#include <iterator>

#include "report/json_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t piece_bytes = 1 << 16;

ordered_json ids_json(const RequestTables& tables) {
  ordered_json stages = ordered_json::array();
  for (const auto& groups : tables.ids) {
    ordered_json stage = ordered_json::array();
    for (const auto& ids : groups) {
      ordered_json group = ordered_json::array();
      for (const std::int64_t id : ids) group.push_back(id == nobody_holds ? ordered_json(nullptr) : ordered_json(id));
      stage.push_back(std::move(group));
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

ordered_json side_json(const TransferSideFacts& facts, const TransferSide& side, const RequestTables& tables) {
  ordered_json json;
  json["scenario"] = facts.scenario;
  json["release"] = facts.engine.rules->name;
  json["evidence"] = to_string(facts.evidence);
  json["tensor_parallel"] = side.tensor_parallel;
  json["pipeline_parallel"] = std::ssize(side.stages);
  json["pool_bytes"] = ordered_json::array();
  for (const CachePlan& plan : side.stages) {
    ordered_json pools = ordered_json::array();
    for (const PoolPlan& pool : plan.pools) pools.push_back(pool.bytes);
    json["pool_bytes"].push_back(std::move(pools));
  }
  json["ids"] = ids_json(tables);
  return json;
}

ordered_json contents_json(const std::vector<Content>& contents) {
  ordered_json list = ordered_json::array();
  for (const Content& content : contents)
    list.push_back({{"role", to_string(content.role)},
                    {"kind", content.kind},
                    {"layer", content.layer},
                    {"tensor", content.tensor},
                    {"from_dtype", to_string(content.from_dtype)},
                    {"to_dtype", to_string(content.to_dtype)},
                    {"unique_bytes", content.unique_bytes}});
  return list;
}

std::string header_line(const TransferAnswer& answer) {
  ordered_json json;
  json["schema"] = transfer_schema_id;
  json["model"] = answer.model;
  json["tokens"] = answer.request.tokens;
  json["present_tokens"] = answer.request.present_tokens;
  json["converts_dtypes"] = answer.options.converts_dtypes;
  json["exchanges_axes"] = answer.options.exchanges_axes;
  json["from"] = side_json(answer.from, answer.map->from(), answer.request.from);
  json["to"] = side_json(answer.to, answer.map->to(), answer.request.to);
  json["contents"] = contents_json(answer.list.contents);
  json["unique_bytes"] = answer.counts.unique_bytes;
  json["bytes"] = answer.counts.all.bytes;
  json["written_bytes"] = answer.counts.all.written_bytes;
  json["descriptors"] = answer.counts.all.descriptors;
  return printable_json(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) + "\n";
}

void append_line(std::string& lines, const RankCopies& pair, const Copy& copy, const std::string& layer_and_tensor) {
  auto out = std::back_inserter(lines);
  fmt::format_to(out, R"({{"from_rank":{},"from_pool":{},"from":{},"to_rank":{},"to_pool":{},"to":{},"bytes":{})",
                 pair.from_rank, copy.from_pool, copy.from, pair.to_rank, copy.to_pool, copy.to, copy.bytes);
  if (copy.to_bytes != copy.bytes) fmt::format_to(out, R"(,"to_bytes":{})", copy.to_bytes);
  fmt::format_to(out, R"(,"content":{}{})", copy.content, layer_and_tensor);
}

}  // namespace

void write_transfer_lines(const TransferAnswer& answer, const std::function<bool(std::string_view)>& write) {
  std::vector<std::string> ends;  // of the lines of each content
  for (const Content& content : answer.list.contents)
    ends.push_back(fmt::format(",\"layer\":{},\"tensor\":{}}}\n", content.layer, ordered_json(content.tensor).dump()));
  std::string lines = header_line(answer);
  for (const RankCopies& pair : answer.list.pairs)
    for (const Copy& copy : pair.copies) {
      append_line(lines, pair, copy, ends[static_cast<std::size_t>(copy.content)]);
      if (lines.size() < piece_bytes) continue;
      if (!write(lines)) return;
      lines.clear();
    }
  if (!lines.empty()) write(lines);
}

bool begins_transfer_lines(std::string_view text) {
  return text.starts_with(fmt::format(R"({{"schema":"{}")", transfer_schema_id));
}

}  // namespace hybridkv
