#include "report/plan/whose_report.h"

#include <fmt/format.h>

#include "base/bytes_text.h"
#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

/// "token 17, head 2, channel 9".
std::string index_text(const ByteOwner& owner) {
  std::string text;
  for (const auto& [axis, position] : owner.index)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis, position);
  return text;
}

std::string layer_text(const ByteOwner& owner) {
  return fmt::format("{}layer {}", owner.draft ? "draft " : "", *owner.layer);
}

/// "layer 3's K, token 17, head 2, channel 9", or that it is of no layer.
std::string owner_text(const ByteOwner& owner) {
  if (!owner.layer) return owner.tensor == "padding" ? "padding" : "a slot that it leaves empty";
  return fmt::format("{}'s {}, {}", layer_text(owner), owner.tensor, index_text(owner));
}

std::string id_text(const WhoseAnswer& answer) {
  if (answer.arena == "blocks") return "block " + human_count(answer.id);
  return fmt::format("id {} of {}", human_count(answer.id), answer.arena);
}

std::string sentence_of_byte(const WhoseAnswer& answer) {
  const std::string byte = fmt::format("Byte {} of pool {}", human_count(answer.offset), answer.pool);
  if (answer.arena.empty())
    return fmt::format("{} lies behind the last id of the pool, which has {}: nobody's.", byte,
                       bytes_text(answer.pool_bytes));
  const std::string lies = fmt::format("{} lies in {}, {} bytes behind its front", byte, id_text(answer),
                                       human_count(answer.byte_of_piece));
  if (answer.is_null) return lies + ": the null block, which no request gets. Of another block it would be:";
  if (answer.owners.size() == 1)
    return fmt::format("{}: {}.", lies, owner_text(answer.owners.front()));
  return fmt::format("{}. A block is of one group at a time; to each of them this byte is:", lies);
}

Table owner_table(const WhoseAnswer& answer) {
  using Row = ByteOwner;
  return table_of<Row>({{{"group", "group"}, &Row::group},
                        {{"kind", "kind"}, &Row::kind},
                        {for_programs("draft"), &Row::draft},
                        {{"layer", "layer"}, &Row::layer},
                        {{"tensor", "tensor"}, &Row::tensor},
                        {{"index", "where in it", "", Align::left}, index_text},
                        {{"byte", "byte of", "the element"}, [](const Row& row) {
                           return row.layer ? std::optional(row.byte) : std::nullopt;
                         }},
                        {{"element_bytes", "element", "bytes"}, [](const Row& row) {
                           return row.layer ? std::optional(row.element_bytes) : std::nullopt;
                         }}},
                       answer.owners);
}

ordered_json json_of(const WhoseAnswer& answer) {
  ordered_json json{{"schema", "hybridkv-whose/1"}, {"pool", answer.pool}, {"offset_bytes", answer.offset},
                    {"pool_bytes", answer.pool_bytes}, {"arena", nullptr}, {"id", nullptr},
                    {"byte_of_piece", nullptr}, {"is_null", answer.is_null}};
  if (!answer.arena.empty())
    json["arena"] = answer.arena, json["id"] = answer.id, json["byte_of_piece"] = answer.byte_of_piece;
  json["owners"] = ordered_json::array();
  for (const ByteOwner& owner : answer.owners) {
    ordered_json one{{"group", owner.group}, {"kind", owner.kind}, {"draft", owner.draft}, {"layer", nullptr},
                     {"tensor", owner.tensor}, {"index", ordered_json::object()}};
    if (owner.layer) {
      one["layer"] = *owner.layer;
      for (const auto& [axis, position] : owner.index) one["index"][axis] = position;
      one["byte"] = owner.byte;
      one["element_bytes"] = owner.element_bytes;
    }
    json["owners"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string render_whose(const WhoseAnswer& answer, Format format, const Style& style) {
  if (format == Format::json) return json_text(json_of(answer));
  if (format == Format::csv) return render_csv(owner_table(answer));
  Document document;
  document.blocks.emplace_back(Paragraph{sentence_of_byte(answer)});
  if (answer.is_null || answer.owners.size() > 1) document.blocks.emplace_back(owner_table(answer));
  if (answer.pools > 1)
    document.blocks.emplace_back(Paragraph{fmt::format(
        "There are {} pools; --pool takes another one. Bytes count from the front of its allocation.", answer.pools)});
  return render_people(document, format, style);
}

}  // namespace hybridkv
