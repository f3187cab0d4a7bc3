#include "report/transfer/transfer_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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
  constexpr Audience programs = Audience::programs;
  Table table({{"as_asked", "", "", Align::left},
               {"order", "order", "", Align::left},
               {"attention_pack_size", "N"},
               {"equal_blocks", "equal", "blocks", Align::left, programs},
               {"turns_conv", "conv", "turned", Align::left},
               {"from_block_tokens", "block", "from", Align::right, programs},
               {"to_block_tokens", "block", "to", Align::right, programs},
               {"blocks", "blocks", "tokens", Align::right, Audience::people},
               {"descriptors", "descriptors"},
               {"bytes", "moved", "bytes"},
               {"longest_bytes", "longest", "run"},
               {"block_runs", "runs of", "a block"},
               {"checkpoint_runs", "of a", "checkpoint"},
               {"refused", "refused", "", Align::left, programs}});
  for (const TransferAlternative& row : rows) {
    const bool has = row.refused.empty();
    const auto number = [&](std::int64_t value) { return has ? Cell(value) : Cell(std::monostate()); };
    const auto text = [](const std::string& value) { return value.empty() ? Cell(std::monostate()) : Cell(value); };
    table.add_row({row.is_current ? "*" : "", text(row.order), row.pack > 0 ? Cell(row.pack) : Cell(std::monostate()),
                   row.equal_blocks, row.turns_conv ? "turned" : "", number(row.from_block_tokens),
                   number(row.to_block_tokens), has ? blocks_text(row) : "refused", number(row.descriptors),
                   number(row.moved_bytes), number(row.longest_run), number(row.block_runs),
                   number(row.checkpoint_runs), text(row.refused)});
  }
  return table;
}

Table offload_table(const std::vector<OffloadEntry>& entries) {
  Table table({{"entry", "one", "", Align::left},
               {"tokens", "tokens"},
               {"groups", "groups"},
               {"layers", "layers", "of one"},
               {"content_bytes", "content", "bytes"},
               {"content_runs", "runs"},
               {"page_bytes", "with padding", "bytes"},
               {"page_runs", "runs"}});
  for (const OffloadEntry& entry : entries)
    table.add_row({fmt::format("{} of {}", entry.tokens > 0 ? "block" : "checkpoint", entry.kind),
                   entry.tokens > 0 ? Cell(entry.tokens) : Cell(std::monostate()), entry.groups, entry.layers,
                   entry.runs.content_bytes, entry.runs.content_runs, entry.runs.page_bytes, entry.runs.page_runs});
  return table;
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
  switch (format) {
    case Format::json: {
      nlohmann::ordered_json json = transfer_head_json(answer, transfer_layouts_schema_id);
      json["layouts"] = to_json(transfer_layout_table(rows));
      return json_text(json);
    }
    case Format::csv: return render_csv(transfer_layout_table(rows));
    case Format::markdown: return render_markdown(layouts_document(answer, rows));
    case Format::table: break;
  }
  return render_text(layouts_document(answer, rows), style);
}

}  // namespace hybridkv
