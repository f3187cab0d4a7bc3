#include "report/audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

// So many findings are told people one by one.
constexpr std::int64_t most_told = 20;

/// "layer 3's state", "K and V of layer 3, and of 11 more": what the blocks of a group hold.
std::string group_text(const Recording& recording, std::int64_t number) {
  const RecordedGroup& group = recording.groups[static_cast<std::size_t>(number)];
  const char* const what = group.is_state() ? "state" : "K and V";
  if (group.layers.empty()) return fmt::format("group {}'s {}", number, what);
  const std::string text = fmt::format("layer {}'s {}", group.layers.front(), what);
  const std::int64_t more = std::ssize(group.layers) - 1;
  return more == 0 ? text : fmt::format("{} (and {} more layers')", text, human_count(more));
}

std::string writer_text(const OwnershipFinding& finding) {
  if (finding.writer < 0) return "";
  if (finding.writer_step < 0) return fmt::format(", written by request {}", finding.writer);
  return fmt::format(", written by request {} in step {}", finding.writer, finding.writer_step);
}

std::string span_text(const OwnershipFinding& finding) {
  if (finding.first_token < 0) return "";
  if (finding.first_token == finding.end_token) return fmt::format(" behind {} tokens", human_count(finding.end_token));
  if (finding.end_token == finding.first_token + 1)
    return fmt::format(" of token {}", human_count(finding.first_token));
  return fmt::format(" of tokens {} to {}", human_count(finding.first_token), human_count(finding.end_token - 1));
}

/// How two numbers of bytes differ: "half of them", "8 times as many".
std::string ratio_text(std::int64_t found, std::int64_t expected) {
  if (found > 0 && expected % found == 0) return fmt::format(", one of {} parts", human_count(expected / found));
  if (expected > 0 && found % expected == 0) return fmt::format(", {} times as many", human_count(found / expected));
  return "";
}

/// The subject of a sentence: whoever does it.
std::string who_text(const OwnershipFinding& finding) {
  return finding.request < 0 ? "the engine" : fmt::format("request {}", finding.request);
}

std::string read_text(const OwnershipFinding& finding, const std::string& what, const std::string& span) {
  const std::string who = who_text(finding), writer = writer_text(finding);
  const bool is_state = finding.first_token == finding.end_token;
  switch (finding.fault) {
    case OwnershipFault::other_prefix: return fmt::format("{} reads {} of another prefix{}", who, what, writer);
    case OwnershipFault::overwritten:
      return fmt::format("{} reads {}{}, which request {} overwrote in step {}", who, what, span, finding.writer,
                         finding.writer_step);
    case OwnershipFault::other_position:
      return is_state ? fmt::format("{} reads {} behind {} tokens where it goes on behind {}{}", who, what,
                                    human_count(finding.found), human_count(finding.expected), writer)
                      : fmt::format("{} reads {} of tokens from {} on where those from {} on belong{}", who, what,
                                    human_count(finding.found), human_count(finding.expected), writer);
    case OwnershipFault::not_written:
      return fmt::format("{} reads {}{} that nobody wrote there{}{}", who, what, span,
                         finding.object.empty() ? "" : fmt::format(" and object {} did not bring", finding.object),
                         finding.writer < 0 ? "" : "; what is there was" + writer.substr(1));
    case OwnershipFault::rejected_draft:
      return fmt::format("{} reads {}{} of a draft that was rejected{}", who, what, span, writer);
    case OwnershipFault::freed: return fmt::format("{} reads {}{} from a block that it gave back", who, what, span);
    default: return fmt::format("{} has no block for {}{}", who, what, span);
  }
}

std::string transfer_text(const OwnershipFinding& finding, const Recording& recording, const std::string& what) {
  const std::string who = who_text(finding);
  switch (finding.fault) {
    case OwnershipFault::other_rank:
      return fmt::format("{} loads {} on rank {} from object {}, which rank {} stored", who, what, finding.expected,
                         finding.object, finding.found);
    case OwnershipFault::other_group:
      if (finding.object.empty())
        return fmt::format("{} reads {} where {} was written{}", who, what, group_text(recording, finding.found),
                           writer_text(finding));
      return fmt::format("{} reads {} from object {}, which has {}", who, what, finding.object,
                         group_text(recording, finding.found));
    case OwnershipFault::other_dtype:
      return fmt::format("{} stores {} as {} in object {}, and the block has {}", who, what, finding.dtype,
                         finding.object, recording.groups[static_cast<std::size_t>(finding.group)].dtype);
    case OwnershipFault::object_size:
      return fmt::format("object {} of {} has {} bytes of {} where a block has {}{}", finding.object, who,
                         human_count(finding.found), what, human_count(finding.expected),
                         ratio_text(finding.found, finding.expected));
    case OwnershipFault::object_unknown:
      return fmt::format("{} loads {} from object {}, which nobody stored", who, what, finding.object);
    default:
      return fmt::format("{} takes or writes the block of {} before its store as object {} is through", who, what,
                         finding.object);
  }
}

Table findings_table(const AuditAnswer& answer) {
  using Row = OwnershipFinding;
  const auto known = [](std::int64_t Row::*member) {
    return where([member](const Row& row) { return row.*member >= 0; }, member);
  };
  const auto layer = [&](const Row& row) {
    const auto& layers = answer.recording.groups[static_cast<std::size_t>(row.group)].layers;
    return layers.empty() ? std::optional<std::int64_t>() : layers.front();
  };
  return table_of<Row>({{{"fault", "fault"}, &Row::fault},
                        {{"line", "line"}, &Row::line},
                        {{"step", "step"}, known(&Row::step)},
                        {{"request", "request"}, known(&Row::request)},
                        {{"group", "group"}, &Row::group},
                        {{"layer", "first", "layer"}, layer},
                        {{"rank", "rank"}, known(&Row::rank)},
                        {{"block", "block"}, known(&Row::block)},
                        {{"writer", "written", "by request"}, known(&Row::writer)},
                        {{"writer_step", "in step"}, known(&Row::writer_step)},
                        {for_programs("first_token"), known(&Row::first_token)},
                        {for_programs("end_token"), known(&Row::end_token)},
                        {for_programs("expected"), known(&Row::expected)},
                        {for_programs("found"), known(&Row::found)},
                        {for_programs("object"), &Row::object},
                        {for_programs("text"),
                         [&](const Row& row) { return finding_text(row, answer.recording); }}},
                       answer.findings);
}

std::string counts_text(const OwnershipCounts& counts) {
  return fmt::format("{}, {}, {}", human_plural(counts.requests, "request"), human_plural(counts.steps, "step"),
                     human_plural(counts.hits, "hit"));
}

std::string verdict_text(const AuditAnswer& answer) {
  if (answer.is_right()) return fmt::format("RESULT: the cache is right: {}", counts_text(answer.counts));
  const OwnershipFinding& first = answer.findings.front();
  const std::string place = first.step < 0 ? fmt::format("line {}", first.line)
                                           : fmt::format("step {}, line {}", first.step, human_count(first.line));
  return fmt::format("RESULT: {} ({}){}", finding_text(first, answer.recording), place,
                     answer.num_findings == 1
                         ? ""
                         : fmt::format("; {} more findings", human_count(answer.num_findings - 1)));
}

Facts checked_facts(const AuditAnswer& answer) {
  const OwnershipCounts& counts = answer.counts;
  Facts facts;
  facts.entries = {{"recording", answer.name},
                   {"engine", answer.recording.engine.empty() ? "unknown" : answer.recording.engine},
                   {"what happened", fmt::format("{}, {}", counts_text(counts), human_plural(counts.runs, "run"))},
                   {"resumed", fmt::format("{} tokens", human_count(counts.hit_tokens))},
                   {"checked", fmt::format("{} units of {} tokens of K and V, {} states",
                                           human_count(counts.checked_units),
                                           human_count(answer.recording.unit_tokens),
                                           human_count(counts.checked_states))}};
  if (counts.stores + counts.loads > 0)
    facts.entries.emplace_back("transfers", fmt::format("{}, {}", human_plural(counts.stores, "store"),
                                                        human_plural(counts.loads, "load")));
  return facts;
}

/// What a verdict does not cover.
std::vector<std::string> limits_of(const AuditAnswer& answer) {
  std::vector<std::string> limits;
  if (answer.recording.sampled)
    limits.push_back("only some requests were recorded: what the others wrote counts as right");
  if (!answer.recording.cold)
    limits.push_back("the cache was in use before the recording began: what was in it counts as right");
  if (answer.counts.unknown > 0)
    limits.push_back(fmt::format("{} of what the recording does not know were not checked",
                                 human_plural(answer.counts.unknown, "read")));
  if (answer.counts.hits == 0)
    limits.push_back("no request resumed behind a prefix: of what is found again nothing is said");
  return limits;
}

Document audit_document(const AuditAnswer& answer) {
  Document document;
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Paragraph{verdict_text(answer)});
  if (const std::vector<std::string> limits = limits_of(answer); !limits.empty()) add(Listing{limits, true});
  if (answer.num_findings > 1) {
    Listing told;
    for (std::int64_t i = 0; i < std::min(most_told, std::ssize(answer.findings) + std::int64_t{0}); ++i) {
      const OwnershipFinding& finding = answer.findings[static_cast<std::size_t>(i)];
      told.items.push_back(fmt::format("line {}: {}", human_count(finding.line),
                                       finding_text(finding, answer.recording)));
    }
    if (answer.num_findings > most_told)
      told.items.push_back(fmt::format("and {} more; --format csv has {}", human_count(answer.num_findings - most_told),
                                       answer.num_findings > OwnershipVerdict::most_kept
                                           ? fmt::format("the first {}", human_count(OwnershipVerdict::most_kept))
                                           : "all"));
    add(Heading{"What is wrong, in the order of the recording"});
    add(std::move(told));
  }
  if (!answer.is_right()) {
    add(Heading{"Where it was found"});
    AuditAnswer few = answer;
    few.findings.resize(static_cast<std::size_t>(std::min<std::int64_t>(most_told, std::ssize(answer.findings))));
    add(findings_table(few));
  }
  add(Heading{"What was checked"});
  add(checked_facts(answer));
  return document;
}

nlohmann::ordered_json audit_json(const AuditAnswer& answer) {
  const OwnershipCounts& counts = answer.counts;
  return {{"schema", "hybridkv-audit/1"},
          {"recording", answer.name},
          {"engine", answer.recording.engine},
          {"result", answer.is_right() ? "right" : "wrong"},
          {"text", verdict_text(answer)},
          {"sampled", answer.recording.sampled},
          {"cold", answer.recording.cold},
          {"requests", counts.requests},
          {"steps", counts.steps},
          {"runs", counts.runs},
          {"hits", counts.hits},
          {"hit_tokens", counts.hit_tokens},
          {"checked_units", counts.checked_units},
          {"checked_states", counts.checked_states},
          {"stores", counts.stores},
          {"loads", counts.loads},
          {"unknown", counts.unknown},
          {"limits", limits_of(answer)},
          {"num_findings", answer.num_findings},
          {"findings", to_json(findings_table(answer))}};
}

}  // namespace

std::string finding_text(const OwnershipFinding& finding, const Recording& recording) {
  const std::string what = group_text(recording, finding.group), who = who_text(finding);
  switch (finding.fault) {
    case OwnershipFault::other_rank:
    case OwnershipFault::other_group:
    case OwnershipFault::other_dtype:
    case OwnershipFault::object_size:
    case OwnershipFault::object_unknown:
    case OwnershipFault::changed_while_stored: return transfer_text(finding, recording, what);
    case OwnershipFault::hits_disagree:
      return fmt::format("{} resumes behind {} tokens, and {} was found of {}", who, human_count(finding.expected),
                         what, human_count(finding.found));
    case OwnershipFault::taken_while_held:
      return fmt::format("{} gets block {} for {}, which request {} holds", who, finding.block, what, finding.writer);
    case OwnershipFault::not_held:
      return fmt::format("{} gives back block {} of {}, which it does not hold", who, finding.block, what);
    case OwnershipFault::region_size:
      return fmt::format("rank {} registers {} bytes for {}, and its blocks have {}{}", finding.rank,
                         human_count(finding.found), what, human_count(finding.expected),
                         ratio_text(finding.found, finding.expected));
    default: return read_text(finding, what, span_text(finding));
  }
}

std::string render_audit(const AuditAnswer& answer, Format format, const Style& style) {
  if (format == Format::json) return json_text(audit_json(answer));
  if (format == Format::csv) return render_csv(findings_table(answer));
  return render_people(audit_document(answer), format, style);
}

}  // namespace hybridkv
