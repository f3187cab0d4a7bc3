#include "report/proof/forward_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/add_once.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

constexpr const char* equal_to_dense =
    "Through the pages every output equals that of the same network run dense and unpaged.";

std::string_view status_text(ForwardStatus status) {
  switch (status) {
    case ForwardStatus::passed: return "passed";
    case ForwardStatus::failed: return "FAILED";
    case ForwardStatus::missed: return "NOT FOUND";
    case ForwardStatus::does_not_apply: return "does not apply";
  }
  return "?";
}

/// The same for csv and json.
std::string machine_text(ForwardStatus status) {
  if (status == ForwardStatus::failed) return "failed";
  return std::string(status == ForwardStatus::missed ? "not found" : status_text(status));
}

std::string planted_text(const ForwardReport& report) {
  if (report.fault) return std::string(to_string(*report.fault));
  return report.layout_fault ? std::string(to_string(*report.layout_fault)) : "";
}

std::int64_t count_of(const ForwardReport& report, ForwardStatus status) {
  return std::count_if(report.results.begin(), report.results.end(),
                       [&](const ForwardResult& result) { return result.status == status; });
}

/// How far the largest error is from what is allowed.
std::string times_text(double times) {
  if (std::isinf(times)) return "no number";
  return times >= 10 ? human_count(static_cast<std::int64_t>(times)) : fmt::format("{:.2g}", times);
}

/// Under what a case ran: "mode align", or of a radix tree "extra_buffer, page 16".
std::string setting_text(const ForwardResult& result) {
  if (!result.strategy) return fmt::format("mode {}", to_string(result.mode));
  return fmt::format("{}, page {}", to_string(*result.strategy), result.page_tokens);
}

bool through_tree(std::span<const ForwardReport> reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [](const ForwardReport& report) { return report.tree.has_value(); });
}

/// Through trees there are no drafts; through them and through slots nobody is preempted. People need not see a count
/// that is zero.
Table cases_table(const ForwardReport& report) {
  using Row = ForwardResult;
  const bool by_tree = report.tree.has_value();
  const auto count = [](auto member) { return where([=](const Row& row) { return row.*member != 0; }, member); };
  const auto setting = [=](const Row& row) {
    return by_tree ? setting_text(row) : std::string(to_string(row.mode));
  };
  const char* const reused = report.tree ? "pages" : report.slots ? "cells" : "blocks";
  std::vector<Row> ran;
  std::copy_if(report.results.begin(), report.results.end(), std::back_inserter(ran),
               [](const Row& row) { return row.status != ForwardStatus::does_not_apply; });
  return table_of<Row>(
      {{{"mode", by_tree ? "strategy" : "mode"}, setting},
       {{"case", "case"}, &Row::forward_case},
       {{"status", "result"}, [](const Row& row) { return status_text(row.status); }},
       {{"tokens", "outputs"}, &Row::tokens},
       {{"hit_tokens", "hit", "tokens"}, count(&Row::hit_tokens)},
       {{"copies", "copies"}, count(&Row::copies)},
       {{"preemptions", "pre-", "empted"}, count(&Row::preemptions),
        !by_tree && !report.slots && !report.snapshots},
       {{"rejected", "refused", "drafts"}, count(&Row::rejected), !by_tree && !report.snapshots},
       {{"reused_blocks", "reused", reused}, count(&Row::reused_blocks)},
       {{"max_error", "largest", "error", Align::right},
        [](const Row& row) { return fmt::format("{:.1e}", row.max_error); }},
       {{"times_allowed", "of the", "bound", Align::right}, via(&Row::times_allowed, times_text)}},
      ran);
}

std::string conclusion(const ForwardReport& report) {
  const ForwardResult* failure = report.first_failure();
  const std::string planted = planted_text(report);
  if (!planted.empty() && !report.applies())
    return fmt::format("The planted fault {} has no place here, so nothing is shown.", planted);
  if (const ForwardResult* find = report.weakest_find(); find && report.caught())
    return std::isinf(find->times_allowed())
               ? fmt::format("The planted fault {} was found: {} in {} gives no numbers.", planted,
                             to_string(find->forward_case), setting_text(*find))
               : fmt::format("The planted fault {} was found at {} times the bound ({} in {}; elsewhere at more).",
                             planted, times_text(find->times_allowed()), to_string(find->forward_case),
                             setting_text(*find));
  if (!planted.empty() && report.weakest_find())
    return fmt::format("The planted fault {} was found in some cases and missed in others.", planted);
  if (!planted.empty()) return fmt::format("The planted fault {} was NOT found: it changes no output.", planted);
  if (failure) return "Through the pages the network computes something else than without them.";
  if (!report.passed()) return "No case applies, so nothing is shown.";
  return equal_to_dense;
}

/// "unified, cascade, paged": those that computed something.
std::string backends_text(const ForwardResult& result) {
  std::string text;
  for (const BackendWork& work : result.backends)
    if (work.batches > 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(work.backend));
  return text;
}

double largest_difference(const ForwardResult& result) {
  double largest = 0;
  for (const BackendWork& work : result.backends) largest = std::max(largest, work.times_allowed);
  return largest;
}

/// Which backends ran over how many batches of a step and layer, and how far they were from each other.
std::string backends_sentence(std::span<const ForwardReport> reports) {
  std::vector<BackendWork> totals;
  double difference = 0;
  for (const ForwardReport& report : reports)
    for (const ForwardResult& result : report.results) {
      difference = std::max(difference, largest_difference(result));
      for (const BackendWork& work : result.backends) {
        auto total = std::find_if(totals.begin(), totals.end(),
                                  [&](const BackendWork& other) { return other.backend == work.backend; });
        if (total == totals.end()) total = totals.insert(totals.end(), {.backend = work.backend});
        total->add(work);
      }
    }
  if (totals.empty()) return "none ran";
  std::string all, some;
  for (const BackendWork& work : totals) {
    if (work.declined == 0) all += fmt::format("{}{}", all.empty() ? "" : ", ", to_string(work.backend));
    else some += fmt::format("; {} on {} of {}", to_string(work.backend), human_count(work.batches),
                             human_count(work.batches + work.declined));
  }
  return fmt::format("{} on every batch of a layer{}; they differ by at most {} of what rounding explains",
                     all.empty() ? "none" : all, some, times_text(difference));
}

/// What does not apply: one line per reason with its cases, in what modes.
Listing reasons_of(const ForwardReport& report) {
  std::vector<std::string> reasons;
  for (const ForwardResult& result : report.results)
    if (result.status == ForwardStatus::does_not_apply) add_once(reasons, result.message);
  Listing listing;
  for (const std::string& reason : reasons) {
    std::vector<std::string> cases, settings;
    for (const ForwardResult& result : report.results) {
      if (result.message != reason) continue;
      add_once(cases, std::string(to_string(result.forward_case)));
      add_once(settings, report.tree ? setting_text(result) : std::string(to_string(result.mode)));
    }
    listing.items.push_back(fmt::format("{} ({}{}): does not apply, {}", fmt::join(cases, ", "),
                                        report.tree ? "" : "mode ", fmt::join(settings, report.tree ? "; " : ", "),
                                        reason));
  }
  return listing;
}

/// One line per fault, each once.
Listing messages_of(const ForwardReport& report, ForwardStatus status) {
  if (status == ForwardStatus::does_not_apply) return reasons_of(report);
  Listing listing{{}, true};
  for (const ForwardResult& result : report.results) {
    if (result.status != status) continue;
    const std::string text =
        fmt::format("{} in {}: {}", to_string(result.forward_case), setting_text(result), result.message);
    if (std::find(listing.items.begin(), listing.items.end(), text) == listing.items.end())
      listing.items.push_back(text);
  }
  return listing;
}

void add_messages(Document& document, const ForwardReport& report, ForwardStatus status) {
  if (Listing listing = messages_of(report, status); !listing.items.empty()) document.blocks.emplace_back(listing);
}

/// What of the way of requests is the engine's and what ours.
void add_way(Facts& facts, const ForwardReport& report) {
  const auto add = [&](const char* name, const char* of_engine, const EngineRules& rules, const char* known) {
    facts.entries.emplace_back(
        name, fmt::format("{}: {}{}; pools, tensors and copies: modelled", of_engine, rules.title, known));
  };
  if (report.tree)
    add("radix tree", "one request at a time; order of match, chunks, tracking, insertion and eviction",
        *report.tree->rules, ", run");
  if (report.slots)
    add("slots", "one request at a time; which slot takes it, where it goes on, checkpoints, saved prompts, cleared "
        "slots",
        *report.slots->rules, ", run");
  if (report.snapshots)
    add("tree", "one request at a time; order of look-up, chunks, commits, copies and eviction",
        *report.snapshots->rules, ", run");
  if (forward_path_of(*report.rules) == ForwardPath::exports)
    add("tables", "chunks, columns of states, keys and what is kept", *report.rules, "");
}

std::string sizes_text(const ForwardReport& report) {
  if (report.slots)
    return fmt::format("cells of one token, {} each; rows of states, and checkpoints, of {}; steps of {} tokens",
                       human_bytes(report.slots->cell_bytes), human_bytes(report.slots->row_bytes),
                       report.slots->step_tokens);
  if (report.snapshots)
    return fmt::format("blocks of {}, {} each; states of {}; chunks of {} tokens",
                       human_plural(report.block_size_tokens, "token"), human_bytes(report.snapshots->block_bytes),
                       human_bytes(report.snapshots->state_bytes), report.snapshots->chunk_tokens);
  if (!report.tree)
    return fmt::format("{}page {}",
                       report.block_size_tokens == 0  // states of whole requests alone
                           ? ""
                           : fmt::format("block {}, ", human_plural(report.block_size_tokens, "token")),
                       human_bytes(report.page_bytes));
  return fmt::format("pages of {} tokens, states every {} of a prompt; {} a token, {} a state slot",
                     fmt::join(report.tree->page_tokens, " and "), fmt::join(report.tree->grid_tokens, " and "),
                     human_bytes(report.tree->token_bytes), human_bytes(report.tree->state_slot_bytes));
}

void add_single(Document& document, const ForwardReport& report) {
  const std::string planted = planted_text(report);
  document.blocks.emplace_back(Heading{fmt::format("{}, N = {}{}", report.model, report.attention_pack_size,
                                                   planted.empty() ? "" : ", planted: " + planted)});
  Facts facts{{{"network", fmt::format("{} with a cache in the model's order, heads and head sizes over {}",
                                       human_plural(report.layers, "layer"), report.scale)},
               {"plan", sizes_text(report)},
               {"backends", backends_sentence(std::span(&report, 1))},
               {"time", fmt::format("{:.1f} s", report.seconds)}}};
  for (const std::string& ratio : report.changed_ratios) facts.entries.emplace_back("scaled", ratio);
  add_way(facts, report);
  document.blocks.emplace_back(std::move(facts));
  document.blocks.emplace_back(cases_table(report));
  add_messages(document, report, ForwardStatus::does_not_apply);
  add_messages(document, report, ForwardStatus::failed);
  add_messages(document, report, ForwardStatus::missed);
  document.blocks.emplace_back(Paragraph{conclusion(report)});
}

Cell forward_block_cell(const ForwardReport& report) {
  return report.tree ? Cell(fmt::format("{}", fmt::join(report.tree->page_tokens, ", "))) : report.block_size_tokens;
}

std::int64_t compared_tokens(const ForwardReport& report) {
  return std::accumulate(report.results.begin(), report.results.end(), std::int64_t{0},
                         [](std::int64_t sum, const ForwardResult& result) { return sum + result.tokens; });
}

/// The case that is nearest to what is allowed; of a planted fault, the one that found it by least.
const ForwardResult& nearest_case(const ForwardReport& report) {
  if (const ForwardResult* const find = report.weakest_find()) return *find;
  return *std::max_element(
      report.results.begin(), report.results.end(),
      [](const ForwardResult& a, const ForwardResult& b) { return a.times_allowed() < b.times_allowed(); });
}

Table runs_table(std::span<const ForwardReport> reports) {
  using Row = ForwardReport;
  const bool plants = std::any_of(reports.begin(), reports.end(), [](const Row& row) { return row.has_fault(); });
  const auto count = [](ForwardStatus status) { return [=](const Row& row) { return count_of(row, status); }; };
  return table_of<Row>(
      {{{"model", "model"}, &Row::model},
       {{"attention_pack_size", "N"}, &Row::attention_pack_size},
       {{"fault", "planted"}, planted_text, plants},
       {{"block_size_tokens", through_tree(reports) ? "pages" : "block", "tokens"},
        [](const Row& row) { return forward_block_cell(row); }, !plants},
       {{"passed", "cases", "passed"}, count(ForwardStatus::passed), !plants},
       {{"does_not_apply", "do not", "apply"}, count(ForwardStatus::does_not_apply), !plants},
       {{"failed", plants ? "found" : "failed"}, count(ForwardStatus::failed)},
       {{"missed", "missed"}, count(ForwardStatus::missed), plants},
       {{"does_not_apply", "no", "place"}, count(ForwardStatus::does_not_apply), plants},
       {{"tokens", "outputs", plants ? "" : "compared"}, compared_tokens},
       {{"max_error", plants ? "error" : "largest", plants ? "" : "error", Align::right},
        [](const Row& row) { return fmt::format("{:.1e}", nearest_case(row).max_error); }},
       {{"times_allowed", plants ? "times the" : "of the", "bound", Align::right},
        [](const Row& row) { return times_text(nearest_case(row).times_allowed()); }},
       {{"seconds", "time", "s"}, as<Real>(&Row::seconds, 1)}},
      reports);
}

void add_many(Document& document, std::span<const ForwardReport> reports) {
  double seconds = 0;
  bool all_planted = true;
  std::int64_t caught = 0, applying = 0, failed = 0;
  for (const ForwardReport& report : reports) {
    seconds += report.seconds;
    all_planted = all_planted && !planted_text(report).empty();
    applying += report.applies();
    caught += report.caught();
    failed += report.first_failure() != nullptr;
  }
  document.blocks.emplace_back(Heading{"Forward passes through shared pages"});
  document.blocks.emplace_back(runs_table(reports));
  for (const ForwardReport& report : reports) {
    if (report.passed()) continue;
    document.blocks.emplace_back(Heading{fmt::format("{}, N = {}", report.model, report.attention_pack_size), 3});
    add_messages(document, report, ForwardStatus::failed);
    add_messages(document, report, ForwardStatus::missed);
    if (!report.applies()) add_messages(document, report, ForwardStatus::does_not_apply);
    document.blocks.emplace_back(Paragraph{conclusion(report)});
  }
  document.blocks.emplace_back(Facts{{{"backends", backends_sentence(reports)}}});
  const std::int64_t without = std::ssize(reports) - applying;
  if (all_planted) {
    document.blocks.emplace_back(Paragraph{fmt::format(
        "Planted {} times{}, {:.1f} s.", reports.size(),
        without == 0 ? "" : fmt::format(", of which {} had no place and do not count", without), seconds)});
    document.blocks.emplace_back(Paragraph{fmt::format("{} of {} caught", caught, applying)});
    return;
  }
  std::string shown = failed > 0      ? fmt::format("{} of {} runs failed.", failed, reports.size())
                      : applying == 0 ? "Nothing is shown."
                                      : std::string(equal_to_dense);
  if (without > 0)
    shown += fmt::format(" Of {} of {} runs no case applies, so they show nothing.", without, reports.size());
  document.blocks.emplace_back(Paragraph{fmt::format("{} {:.1f} s.", shown, seconds)});
}

}  // namespace

Document forward_report(std::span<const ForwardReport> reports) {
  expects(!reports.empty(), "a report has at least one run");
  Document document;
  if (reports.size() == 1) add_single(document, reports.front());
  else add_many(document, reports);
  return document;
}

Table forward_table(std::span<const ForwardReport> reports) {
  struct Row {
    const ForwardReport* run;
    const ForwardResult* result;
    std::int64_t block() const { return result->strategy ? result->page_tokens : run->block_size_tokens; }
  };
  std::vector<Row> rows;
  for (const ForwardReport& report : reports)
    for (const ForwardResult& result : report.results) rows.push_back({&report, &result});
  const auto of_run = [](auto getter) { return via(&Row::run, getter); };
  const auto of = [](auto getter) { return via(&Row::result, getter); };
  return table_of<Row>(
      {{{"model"}, of_run(&ForwardReport::model)},
       {{"attention_pack_size"}, of_run(&ForwardReport::attention_pack_size)},
       {{"scale"}, of_run(&ForwardReport::scale)},
       {{"fault"}, [](const Row& row) { return planted_text(*row.run); }},
       {{"block_size_tokens"}, &Row::block},
       {{"mode"}, of(&ForwardResult::mode)},
       {{"case"}, of(&ForwardResult::forward_case)},
       {{"status"}, [](const Row& row) { return machine_text(row.result->status); }},
       {{"requests"}, of(&ForwardResult::requests)},
       {{"tokens"}, of(&ForwardResult::tokens)},
       {{"hit_tokens"}, of(&ForwardResult::hit_tokens)},
       {{"copies"}, of(&ForwardResult::copies)},
       {{"preemptions"}, of(&ForwardResult::preemptions)},
       {{"rejected"}, of(&ForwardResult::rejected)},
       {{"reused_blocks"}, of(&ForwardResult::reused_blocks)},
       {{"max_error"}, as<Real>(of(&ForwardResult::max_error))},
       {{"tolerance"}, as<Real>(of(&ForwardResult::tolerance))},
       {{"times_allowed"}, as<Real>(of(&ForwardResult::times_allowed))},
       {{"backends"}, [](const Row& row) { return backends_text(*row.result); }},
       {{"backend_difference"}, [](const Row& row) { return Real{largest_difference(*row.result)}; }},
       {{"message"}, of(&ForwardResult::message)},
       {{"strategy"}, of(&ForwardResult::strategy), through_tree(reports)}},
      rows);
}

std::string render_forward(std::span<const ForwardReport> reports, Format format, const Style& style) {
  if (format == Format::csv) return render_csv(forward_table(reports));
  if (format != Format::json) return render_people(forward_report(reports), format, style);
  nlohmann::ordered_json json;
  json["schema"] = forward_schema_id;
  json["passed"] =
      std::all_of(reports.begin(), reports.end(), [](const ForwardReport& report) { return report.passed(); });
  json["results"] = to_json(forward_table(reports));
  return json_text(json);
}

}  // namespace hybridkv
