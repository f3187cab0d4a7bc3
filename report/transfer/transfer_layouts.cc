#include "report/transfer/transfer_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/transfer/transfer_report.h"

namespace hybridkv {

namespace {

std::string blocks_text(const TransferAlternative& row) {
  return row.from_block_tokens == row.to_block_tokens
             ? human_count(row.to_block_tokens)
             : fmt::format("{} to {}", human_count(row.from_block_tokens), human_count(row.to_block_tokens));
}

/// "order nhd, N = 15, equal blocks", of what rows vary.
std::string layout_text(const TransferAlternative& row) {
  std::vector<std::string> parts;
  if (!row.order.empty()) parts.push_back("order " + row.order);
  if (row.pack > 0) parts.push_back(fmt::format("N = {}", row.pack));
  if (row.equal_blocks)
    parts.push_back(row.to_block_tokens > 0
                        ? fmt::format("blocks of {} tokens on both sides", human_count(row.to_block_tokens))
                        : "equal blocks");
  if (row.turns_conv) parts.emplace_back("convolution states turned (engine.conv_state_layout)");
  return fmt::to_string(fmt::join(parts, ", "));
}

Document layouts_document(const TransferAnswer& answer, const std::vector<TransferAlternative>& rows) {
  Document document;
  add_transfer_sides(document, answer);
  document.blocks.emplace_back(transfer_layout_table(rows));
  Listing refusals{{}, true};
  for (const TransferAlternative& row : rows)
    if (!row.refused.empty()) {
      const std::string text = fmt::format("{}: {}", layout_text(row), row.refused);
      if (std::find(refusals.items.begin(), refusals.items.end(), text) == refusals.items.end())
        refusals.items.push_back(text);
    }
  if (!refusals.items.empty()) document.blocks.emplace_back(std::move(refusals));
  if (const std::string text = fewest_text(answer, rows); !text.empty()) document.blocks.emplace_back(Paragraph{text});
  document.blocks.emplace_back(Paragraph{
      "* as asked. Both sides are laid out alike; blocks are each side's own, or the larger of both. The last columns "
      "are the runs, without padding, in which one block of attention and one checkpoint of a group lie at the "
      "destination: what a host tier copies."});
  return document;
}

}  // namespace

Table transfer_layout_table(const std::vector<TransferAlternative>& rows) {
  using Row = TransferAlternative;
  const auto has = [](const Row& row) { return row.refused.empty(); };
  const auto text = [](auto member) { return where([=](const Row& row) { return !(row.*member).empty(); }, member); };
  return table_of<Row>(
      {{{"as_asked"}, [](const Row& row) { return row.is_current ? "*" : ""; }},
       {{"order", "order"}, text(&Row::order)},
       {{"attention_pack_size", "N"}, where([](const Row& row) { return row.pack > 0; }, &Row::pack)},
       {for_programs("equal_blocks"), &Row::equal_blocks},
       {{"turns_conv", "conv", "turned"}, [](const Row& row) { return row.turns_conv ? "turned" : ""; }},
       {for_programs("from_block_tokens"), where(has, &Row::from_block_tokens)},
       {for_programs("to_block_tokens"), where(has, &Row::to_block_tokens)},
       {for_people("blocks", "tokens", Align::right),
        [](const Row& row) { return row.refused.empty() ? blocks_text(row) : "refused"; }},
       {{"descriptors", "descriptors"}, where(has, &Row::descriptors)},
       {{"bytes", "moved", "bytes"}, where(has, &Row::moved_bytes)},
       {{"longest_bytes", "longest", "run"}, where(has, &Row::longest_run)},
       {{"block_runs", "runs of", "a block"}, where(has, &Row::block_runs)},
       {{"checkpoint_runs", "of a", "checkpoint"}, where(has, &Row::checkpoint_runs)},
       {for_programs("refused"), text(&Row::refused)}},
      rows);
}

Table offload_table(const std::vector<OffloadEntry>& entries) {
  using Row = OffloadEntry;
  const auto is_block = [](const Row& row) { return row.tokens > 0; };
  const auto name = [](const Row& row) {
    return fmt::format("{} of {}", row.tokens > 0 ? "block" : "checkpoint", row.kind);
  };
  return table_of<Row>({{{"entry", "one"}, name},
                        {{"tokens", "tokens"}, where(is_block, &Row::tokens)},
                        {{"groups", "groups"}, &Row::groups},
                        {{"layers", "layers", "of one"}, &Row::layers},
                        {{"content_bytes", "content", "bytes"}, via(&Row::runs, &PageRuns::content_bytes)},
                        {{"content_runs", "runs"}, via(&Row::runs, &PageRuns::content_runs)},
                        {{"page_bytes", "with padding", "bytes"}, via(&Row::runs, &PageRuns::page_bytes)},
                        {{"page_runs", "runs"}, via(&Row::runs, &PageRuns::page_runs)}},
                       entries);
}

std::string fewest_text(const TransferAnswer& answer, const std::vector<TransferAlternative>& rows) {
  const auto best = fewest_descriptors(rows, answer);
  const std::int64_t now = answer.counts.all.descriptors;
  if (!best || rows[*best].descriptors >= now) return "";
  const TransferAlternative& row = rows[*best];
  return fmt::format("Fewest: {}: {}, {} % of {}, longest run {}.", layout_text(row),
                     human_plural(row.descriptors, "descriptor"),
                     human_real(100.0 * static_cast<double>(row.descriptors) / static_cast<double>(now), 1),
                     human_count(now), human_bytes(row.longest_run));
}

void add_offload(Document& document, const TransferAnswer& answer) {
  const auto add = [&](const char* side, const TransferSide& of) {
    document.blocks.emplace_back(Heading{fmt::format("To a host tier, of one rank {}", side)});
    document.blocks.emplace_back(offload_table(offload_entries(of)));
  };
  add("at the source", answer.map->from());
  add("at the destination", answer.map->to());
}

std::string render_transfer_layouts(const TransferAnswer& answer, const std::vector<TransferAlternative>& rows,
                                    Format format, const Style& style) {
  if (format == Format::csv) return render_csv(transfer_layout_table(rows));
  if (format != Format::json) return render_people(layouts_document(answer, rows), format, style);
  nlohmann::ordered_json json = transfer_head_json(answer, transfer_layouts_schema_id);
  json["layouts"] = to_json(transfer_layout_table(rows));
  return json_text(json);
}

}  // namespace hybridkv
