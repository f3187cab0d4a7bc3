#include "report/transfer/transfer_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/plan/rules_text.h"
#include "report/transfer/transfer_derivation.h"
#include "report/transfer/transfer_layouts.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

/// Above so many pairs of ranks people get the first ones; programs get all.
constexpr std::size_t most_pairs_shown = 32;

std::string dtype_text(const TransferTensor& tensor) {
  if (tensor.from_dtype == tensor.to_dtype) return std::string(to_string(tensor.from_dtype));
  return fmt::format("{} to {}", to_string(tensor.from_dtype), to_string(tensor.to_dtype));
}

std::string side_text(const TransferSideFacts& side) {
  std::string dtypes;
  for (const auto& [tensor, dtype] : side.dtypes)
    dtypes += fmt::format("{}{} {}", dtypes.empty() ? "" : ", ", tensor, dtype);
  std::string text = fmt::format("{}: {}; tensor parallel {}", side.scenario, rules_text(side.engine),
                                 side.tensor_parallel);
  if (side.stages > 1) text += fmt::format(", {} stages", side.stages);
  text += fmt::format("; block {}, N = {}", human_count(side.block_tokens), side.engine.attention_pack_size);
  if (!side.order.empty()) text += fmt::format(", {}", side.order);
  text += fmt::format("; {}; {} of each rank", dtypes, fmt::join(side.ids, " and "));
  if (side.uncounted_bytes > 0)
    text += fmt::format("; the {} beside each block are not counted", exact_bytes(side.uncounted_bytes));
  if (side.evidence != Evidence::run) text += fmt::format(" ({})", to_string(side.evidence));
  return text;
}

std::string request_text(const TransferAnswer& answer) {
  std::string text = human_plural(answer.request.tokens, "token");
  if (answer.request.present_tokens > 0)
    text += fmt::format(", K and V of the first {} are there already", human_count(answer.request.present_tokens));
  if (answer.as_prefix) text += ", kept as a prefix for requests to come";
  return text;
}

std::string signed_bytes(std::int64_t bytes) {
  return bytes < 0 ? "-" + human_bytes(-bytes) : "+" + human_bytes(bytes);
}

/// Why more or fewer bytes move than the content has.
std::string moved_text(const TransferAnswer& answer) {
  const TransferCounts& counts = answer.counts;
  std::string text = exact_bytes(counts.all.bytes);
  std::vector<std::string> why;
  if (counts.replica_bytes() > 0)
    why.push_back(fmt::format("{} for ranks that keep the same as another one", signed_bytes(counts.replica_bytes())));
  if (const std::int64_t converted = counts.all.bytes - counts.all.written_bytes; converted != 0)
    why.push_back(fmt::format("{} of elements that are converted at the destination", signed_bytes(converted)));
  return why.empty() ? text : fmt::format("{}: {}", text, fmt::join(why, ", "));
}

Facts transfer_totals(const TransferAnswer& answer) {
  const TransferCounts& counts = answer.counts;
  return {{{"must move", exact_bytes(counts.unique_bytes) + ", each element once"},
           {"moved", moved_text(answer)},
           {"descriptors",
            fmt::format("{}; longest run {}, median {}, shortest {}", human_count(counts.all.descriptors),
                        human_bytes(counts.all.longest), human_bytes(counts.median_bytes),
                        human_bytes(counts.all.shortest))}}};
}

/// "1,344 descriptors and 46.9 MiB every 1,000 tokens, and 540 descriptors and 91.6 MiB once for the states".
std::string rate_text(const TransferAnswer& answer) {
  const RunSizes states = answer.counts.of_states();
  std::string text = fmt::format("Every {} tokens take {} descriptors and {}", human_count(tokens_of_rate),
                                 human_real(answer.rate->descriptors, 1),
                                 human_bytes(static_cast<std::int64_t>(answer.rate->bytes)));
  if (states.descriptors > 0)
    text += fmt::format(", and the states {} and {} once", human_plural(states.descriptors, "descriptor"),
                        human_bytes(states.bytes));
  return text + ".";
}

void add_growth(Document& document, const TransferAnswer& answer) {
  document.blocks.emplace_back(Heading{"By length"});
  document.blocks.emplace_back(transfer_growth_table(answer));
  std::string text = answer.rate ? rate_text(answer) : "";
  if (!answer.growth_ends.empty())
    text += fmt::format("{}Twice the length is left out: {}.", text.empty() ? "" : " ", answer.growth_ends);
  if (answer.ids_are_given) text += " Ids of these lengths are made, not those of the files.";
  if (!text.empty()) document.blocks.emplace_back(Paragraph{text});
}

void add_pairs(Document& document, const TransferAnswer& answer) {
  document.blocks.emplace_back(Heading{"By ranks"});
  Table all = transfer_pair_table(answer);
  if (all.rows().size() <= most_pairs_shown) {
    document.blocks.emplace_back(std::move(all));
    return;
  }
  Table first(all.columns());
  for (std::size_t row = 0; row < most_pairs_shown; ++row) first.add_row(all.rows()[row]);
  document.blocks.emplace_back(std::move(first));
  document.blocks.emplace_back(Paragraph{fmt::format("The first {} of {} pairs; csv and json have all.",
                                                     most_pairs_shown, all.rows().size())});
}

ordered_json side_json(const TransferSideFacts& side) {
  ordered_json json;
  json["scenario"] = side.scenario;
  json["rules"] = rules_text(side.engine);
  json["evidence"] = to_string(side.evidence);
  json["tensor_parallel"] = side.tensor_parallel;
  json["pipeline_parallel"] = side.stages;
  json["block_size_tokens"] = side.block_tokens;
  json["attention_pack_size"] = side.engine.attention_pack_size;
  json["order"] = side.order;
  json["dtypes"] = ordered_json::object();
  for (const auto& [tensor, dtype] : side.dtypes) json["dtypes"][tensor] = dtype;
  json["ids"] = side.ids;
  json["uncounted_bytes_per_block"] = side.uncounted_bytes;
  return json;
}

ordered_json totals_json(const TransferCounts& counts) {
  ordered_json json;
  json["unique_bytes"] = counts.unique_bytes;
  json["bytes"] = counts.all.bytes;
  json["written_bytes"] = counts.all.written_bytes;
  json["descriptors"] = counts.all.descriptors;
  json["longest_bytes"] = counts.all.longest;
  json["median_bytes"] = counts.median_bytes;
  json["shortest_bytes"] = counts.all.shortest;
  return json;
}

std::string report_json(const TransferAnswer& answer) {
  ordered_json json = transfer_head_json(answer, transfer_report_schema_id);
  json["totals"] = totals_json(answer.counts);
  json["tensors"] = to_json(transfer_tensor_table(answer));
  json["pairs"] = to_json(transfer_pair_table(answer));
  json["rows"] = to_json(transfer_row_table(answer));
  json["sizes"] = to_json(transfer_size_table(answer));
  json["growth"] = to_json(transfer_growth_table(answer));
  json["growth_ends"] = answer.growth_ends.empty() ? ordered_json(nullptr) : ordered_json(answer.growth_ends);
  json["rate"] = nullptr;
  if (const auto& rate = answer.rate)
    json["rate"] = {{"tokens", tokens_of_rate}, {"descriptors", rate->descriptors}, {"bytes", rate->bytes}};
  json["runs"] = run_derivations_json(answer);
  json["offload"] = {{"from", to_json(offload_table(offload_entries(answer.map->from())))},
                     {"to", to_json(offload_table(offload_entries(answer.map->to())))}};
  return json_text(json);
}

}  // namespace

Table transfer_tensor_table(const TransferAnswer& answer) {
  using Row = TransferTensor;
  const auto name = [](const Row& row) { return fmt::format("{}, {}", tensor_name(row), dtype_text(row)); };
  return table_of<Row>({{for_people("tensor"), name},
                        {for_programs("role"), &Row::role},
                        {for_programs("kind"), &Row::kind},
                        {for_programs("tensor"), &Row::tensor},
                        {for_programs("from_dtype"), &Row::from_dtype},
                        {for_programs("to_dtype"), &Row::to_dtype},
                        {{"layers", "layers"}, &Row::layers},
                        {{"unique_bytes", "must move", "bytes"}, &Row::unique_bytes},
                        {{"bytes", "moved", "bytes"}, via(&Row::runs, &RunSizes::bytes)},
                        {for_programs("written_bytes"), via(&Row::runs, &RunSizes::written_bytes)},
                        {{"descriptors", "descriptors"}, via(&Row::runs, &RunSizes::descriptors)},
                        {for_programs("shortest_bytes"), via(&Row::runs, &RunSizes::shortest)},
                        {{"longest_bytes", "longest", "run"}, via(&Row::runs, &RunSizes::longest)}},
                       answer.counts.tensors);
}

Table transfer_pair_table(const TransferAnswer& answer) {
  using Row = TransferPair;
  return table_of<Row>({{{"from_rank", "from", "rank"}, &Row::from_rank},
                        {{"to_rank", "to", "rank"}, &Row::to_rank},
                        {{"bytes", "moved", "bytes"}, via(&Row::runs, &RunSizes::bytes)},
                        {for_programs("written_bytes"), via(&Row::runs, &RunSizes::written_bytes)},
                        {{"descriptors", "descriptors"}, via(&Row::runs, &RunSizes::descriptors)},
                        {{"shortest_bytes", "shortest", "run"}, via(&Row::runs, &RunSizes::shortest)},
                        {{"longest_bytes", "longest", "run"}, via(&Row::runs, &RunSizes::longest)}},
                       answer.counts.pairs);
}

Table transfer_row_table(const TransferAnswer& answer) {
  using Row = TransferPairTensor;
  const auto tensor = [&](auto member) {
    return [&answer, member](const Row& row) { return answer.counts.tensors[row.tensor].*member; };
  };
  return table_of<Row>({{{"from_rank", "from", "rank"}, &Row::from_rank},
                        {{"to_rank", "to", "rank"}, &Row::to_rank},
                        {{"role", "role"}, tensor(&TransferTensor::role)},
                        {{"kind", "kind"}, tensor(&TransferTensor::kind)},
                        {{"tensor", "tensor"}, tensor(&TransferTensor::tensor)},
                        {{"from_dtype", "from"}, tensor(&TransferTensor::from_dtype)},
                        {{"to_dtype", "to"}, tensor(&TransferTensor::to_dtype)},
                        {{"bytes", "moved", "bytes"}, via(&Row::runs, &RunSizes::bytes)},
                        {{"written_bytes", "written", "bytes"}, via(&Row::runs, &RunSizes::written_bytes)},
                        {{"descriptors", "descriptors"}, via(&Row::runs, &RunSizes::descriptors)},
                        {{"shortest_bytes", "shortest", "run"}, via(&Row::runs, &RunSizes::shortest)},
                        {{"longest_bytes", "longest", "run"}, via(&Row::runs, &RunSizes::longest)}},
                       answer.counts.rows);
}

Table transfer_size_table(const TransferAnswer& answer) {
  using Row = RunSizeBin;
  const auto range = [](const Row& row) {
    return fmt::format("{} to {}", human_bytes(row.least_bytes), human_bytes(2 * row.least_bytes));
  };
  return table_of<Row>({{for_people("a run of"), range},
                        {for_programs("least_bytes"), &Row::least_bytes},
                        {{"descriptors", "descriptors"}, &Row::descriptors},
                        {{"bytes", "moved", "bytes"}, &Row::bytes},
                        {for_people("of all", "bytes"),
                         [&](const Row& row) { return percent_of(row.bytes, answer.counts.all.bytes, 1); }}},
                       answer.counts.sizes);
}

Table transfer_growth_table(const TransferAnswer& answer) {
  using Row = TransferGrowth;
  Table table = table_of<Row>(
      {{{"tokens", "tokens"}, &Row::tokens},
       {{"unique_bytes", "must move", "bytes"}, &Row::unique_bytes},
       {{"bytes", "moved", "bytes"}, via(&Row::runs, &RunSizes::bytes)},
       {{"descriptors", "descriptors"}, via(&Row::runs, &RunSizes::descriptors)},
       {{"state_descriptors", "of them", "of states"}, via(&Row::of_states, &RunSizes::descriptors)},
       {{"longest_bytes", "longest", "run"}, via(&Row::runs, &RunSizes::longest)}},
      answer.growth);
  for (std::size_t i = 0; i < answer.growth.size(); ++i)
    if (answer.growth[i].tokens == answer.request.tokens) table.mark_row(i);
  return table;
}

void add_transfer_sides(Document& document, const TransferAnswer& answer) {
  const std::string from = human_plural(answer.map->from().num_ranks(), "rank");
  const std::string to = human_plural(answer.map->to().num_ranks(), "rank");
  document.blocks.emplace_back(Heading{fmt::format("{}: a cache of {} from {} to {}", answer.model,
                                                   human_plural(answer.request.tokens, "token"), from, to),
                                       1});
  document.blocks.emplace_back(
      Facts{{{"from", side_text(answer.from)}, {"to", side_text(answer.to)}, {"request", request_text(answer)}}});
}

ordered_json transfer_head_json(const TransferAnswer& answer, const char* schema) {
  ordered_json json;
  json["schema"] = schema;
  json["model"] = answer.model;
  json["tokens"] = answer.request.tokens;
  json["present_tokens"] = answer.request.present_tokens;
  json["from"] = side_json(answer.from);
  json["to"] = side_json(answer.to);
  return json;
}

Document transfer_report(const TransferAnswer& answer) {
  Document document;
  add_transfer_sides(document, answer);
  document.blocks.emplace_back(transfer_totals(answer));
  document.blocks.emplace_back(transfer_tensor_table(answer));
  add_pairs(document, answer);
  document.blocks.emplace_back(Heading{"By size"});
  document.blocks.emplace_back(transfer_size_table(answer));
  add_growth(document, answer);
  add_run_derivations(document, answer);
  add_offload(document, answer);
  document.blocks.emplace_back(
      Paragraph{"What other orders, pack sizes and blocks would make of it: the same with --alternatives."});
  return document;
}

std::string render_transfer(const TransferAnswer& answer, Format format, const Style& style) {
  if (format == Format::csv) return render_csv(transfer_row_table(answer));
  if (format != Format::json) return render_people(transfer_report(answer), format, style);
  return report_json(answer);
}

}  // namespace hybridkv
