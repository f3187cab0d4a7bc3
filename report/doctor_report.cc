#include "report/doctor_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/run_report.h"

namespace hybridkv {

namespace {

bool is_whole(const std::string& text) {
  constexpr std::size_t most_digits = 18;
  return !text.empty() && text.size() <= most_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A value of a log: a count where it is one.
Cell cell_of_text(const std::string& text) {
  if (text.empty()) return std::monostate{};
  return is_whole(text) ? Cell(std::int64_t{std::stoll(text)}) : Cell(text);
}

/// The same for programs: a number where it is one.
nlohmann::ordered_json json_value(const std::string& text) {
  if (text.empty()) return nullptr;
  if (is_whole(text)) return std::stoll(text);
  const bool is_real = text.find_first_not_of("0123456789.") == std::string::npos &&
                       std::count(text.begin(), text.end(), '.') == 1 && text.front() != '.' && text.back() != '.';
  return is_real ? nlohmann::ordered_json(std::stod(text)) : nlohmann::ordered_json(text);
}

/// Sizes of pools are in the unit of the engine.
std::string title_of(LogKey key, std::string_view unit) {
  const auto in_unit = [&](const char* what) { return fmt::format("{}, {}", what, unit); };
  switch (key) {
    case LogKey::checked_gib: return "memory that was checked, GiB";
    case LogKey::needed_gib: return "a longest request, GiB";
    case LogKey::estimated_length: return "longest that fits, tokens";
    case LogKey::state_slots: return "states";
    case LogKey::conv_size: return in_unit("conv states");
    case LogKey::ssm_size: return in_unit("ssm states");
    case LogKey::token_slots: return "tokens";
    case LogKey::k_size: return in_unit("K");
    case LogKey::v_size: return in_unit("V");
    case LogKey::kv_size: return in_unit("K and V");
    case LogKey::running_limit: return "running requests";
    case LogKey::block_size: return "attention block, tokens";
    case LogKey::padding_percent: return "padding of states, %";
    case LogKey::memory_gib: return "available memory, GiB";
    case LogKey::num_blocks: return "GPU blocks";
    case LogKey::state_blocks: return "state blocks";
    case LogKey::kv_cache_tokens: return "KV cache, tokens";
    case LogKey::concurrency: return "concurrency, requests";
    default: return "";
  }
}

Table figure_table(const DoctorAnswer& answer) {
  using Row = FigureCheck;
  const std::string_view unit = answer.found.printed_by ? answer.found.printed_by->size_unit : std::string_view();
  return table_of<Row>({{for_programs("name"), &Row::key},
                        {for_people("figure"), [&](const Row& row) { return title_of(row.key, unit); }},
                        {{"line", "line"}, [&](const Row& row) { return answer.found.find(row.key)->line; }},
                        {{"printed", "printed"}, via(&Row::printed, cell_of_text)},
                        {{"planned", "by the rules"}, via(&Row::planned, cell_of_text)},
                        {{"explained", "to the digit"}, &Row::explained}},
                       answer.explained.figures);
}

/// "vllm-0.33, sm90: engine.cache_mode align, ...".
std::string settings_text(const std::vector<Assignment>& settings) {
  std::vector<std::string> words;
  for (const auto& [key, value] : settings) {
    const std::string name = key.substr(key.find('.') + 1);
    words.push_back(name == "release" || name == "backend_profile" ? value : name + " " + value);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string result_text(const DoctorAnswer& answer) {
  const Explanation& explained = answer.explained;
  const auto count = std::count_if(explained.figures.begin(), explained.figures.end(),
                                   [](const FigureCheck& figure) { return figure.explained; });
  const std::string rules = settings_text(explained.settings);
  if (explained.figures.empty())
    return fmt::format("RESULT: no figure of {} was printed; read by {}", explained.model, rules);
  if (!explained.is_complete())
    return fmt::format("RESULT: {} of {} figures of {} explained, best by {}", count,
                       explained.figures.size(), explained.model, rules);
  return fmt::format("RESULT: {} of {} explained to the digit by {}",
                     explained.figures.size() == 1 ? "the one figure"
                                                   : fmt::format("all {} figures", explained.figures.size()),
                     explained.model, rules);
}

Facts found_facts(const StartupLog& log) {
  Facts facts;
  for (const LogKey key : all_log_keys) {
    const auto& value = log.find(key);
    if (!value || std::find(log_figures.begin(), log_figures.end(), key) != log_figures.end()) continue;
    facts.entries.emplace_back(std::string(to_string(key)),
                               fmt::format("{} (line {})", human_cell(cell_of_text(value->text)), value->line));
  }
  return facts;
}

std::string causes_text(const IdsByCause& causes) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t ids, const char* what) {
    if (ids > 0) parts.push_back(fmt::format("{} for {}", human_count(ids), what));
  };
  add(causes.tokens, "tokens");
  add(causes.states, "states");
  add(causes.speculative, "drafts");
  add(causes.checkpoints, "exported checkpoints");
  add(causes.in_flight_window, "tokens in flight");
  add(causes.encoder, "the encoder's tokens");
  add(causes.other, "what the model keeps beside them");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Facts cost_facts(const Explanation& explained) {
  Facts facts;
  const CachePlan& plan = explained.plan;
  if (const SpecPlan* const state = largest_state(plan))
    facts.entries.emplace_back("state", fmt::format("{} bytes, padded by {}", human_count(state->state->bytes),
                                                    human_percent(state->padding_percent)));
  if (plan.is_uniform())
    facts.entries.emplace_back("block",
                               fmt::format("{} bytes in all layers; one is the null block, which nobody gets",
                                           human_count(plan.arenas.front().bytes_per_id)));
  else
    facts.entries.emplace_back(primary_block_tokens(plan) == 1 ? "token" : "block",
                               fmt::format("{} bytes in all layers", human_count(plan.arenas.front().bytes_per_id)));
  if (explained.length == 0) return facts;
  const CapacityPlan& capacity = plan.capacity.front();
  if (!plan.is_uniform()) {
    facts.entries.emplace_back(fmt::format("request of {} tokens", human_count(capacity.max_model_len)),
                               fmt::format("{} bytes; {:.2f} fit at once", human_count(capacity.bytes_per_request),
                                           capacity.max_concurrency));
    return facts;
  }
  facts.entries.emplace_back(fmt::format("request of {} tokens", human_count(capacity.max_model_len)),
                             fmt::format("{} blocks: {}; {} more bytes than without pages",
                                         human_count(capacity.blocks_per_request), causes_text(capacity.ids_by_cause),
                                         human_percent(over_ideal_percent(capacity), 1)));
  return facts;
}

Document document_of(const DoctorAnswer& answer) {
  Document document;
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Paragraph{result_text(answer)});
  if (answer.failure) {
    add(Listing{{fmt::format("The start failed (line {}): {}", answer.failure->line, answer.failure->text)}, true});
    if (!answer.failure->tries.empty()) {
      std::vector<std::string> what, commands;
      for (const BootTry& one : answer.failure->tries) {
        what.push_back("starts with " + one.what);
        commands.push_back(one.command);
      }
      add(Listing{what});
      add(Code{commands});
    }
  }
  if (!answer.explained.figures.empty()) add(figure_table(answer));
  if (!answer.contradictions.empty()) add(Listing{answer.contradictions, true});
  std::vector<std::string> notes;
  if (!answer.undecided.empty()) notes.push_back(answer.undecided);
  if (!answer.explained.assumed.empty())
    notes.push_back(fmt::format("The log does not say it, but its figures ask for it: {}",
                                fmt::join(answer.explained.assumed, ", ")));
  if (!answer.explained.also.empty())
    notes.push_back(fmt::format("These explain as much: {}", fmt::join(answer.explained.also, "; ")));
  if (answer.explained.length == 0 && !answer.found.is_of_pools())
    notes.emplace_back("The log does not say the longest length, so tokens and concurrency are not computed: "
                       "--max-model-len gives it");
  if (!notes.empty()) add(Listing{notes});
  add_run_time(document, answer);
  add_log_replay(document, answer);
  add(Heading{"Found"});
  add(found_facts(answer.found));
  add(Heading{"What it costs"});
  add(cost_facts(answer.explained));
  const auto add_tries = [&](const char* heading, const std::vector<BetterSetting>& tries) {
    if (tries.empty()) return;
    add(Heading{heading});
    add(better_table(tries));
    Code commands;
    for (const BetterSetting& one : tries) commands.lines.push_back(one.command);
    add(std::move(commands));
  };
  add_tries("In the same memory", answer.better);
  if (!answer.replay) add_tries("These may find more prefixes again; --trace FILE says which do", answer.more_hits);
  return document;
}

nlohmann::ordered_json json_of(const DoctorAnswer& answer) {
  nlohmann::ordered_json json{{"schema", "hybridkv-doctor/1"}};
  nlohmann::ordered_json& found = json["found"] = nlohmann::ordered_json::object();
  for (const LogKey key : all_log_keys)
    if (const auto& value = answer.found.find(key)) {
      const bool is_text = key == LogKey::version || key == LogKey::model;
      found[std::string(to_string(key))] = is_text ? nlohmann::ordered_json(value->text) : json_value(value->text);
    }
  const Explanation& from = answer.explained;
  nlohmann::ordered_json& explained = json["explained"];
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  explained["model"] = from.model;
  explained["release"] = nullptr;
  explained["backend_profile"] = nullptr;
  for (const auto& [key, value] : from.settings) {
    const std::string name = key.substr(key.find('.') + 1);
    if (name == "release" || name == "backend_profile") explained[name] = value;
    else settings[name] = json_value(value);
  }
  explained["all_figures"] = from.is_complete();
  explained["settings"] = std::move(settings);
  explained["assumed"] = from.assumed;
  explained["also"] = from.also;
  explained["num_blocks"] = from.num_blocks ? nlohmann::ordered_json(*from.num_blocks) : nullptr;
  explained["figures"] = nlohmann::ordered_json::array();
  for (const FigureCheck& figure : from.figures)
    explained["figures"].push_back({{"name", to_string(figure.key)},
                                    {"printed", json_value(figure.printed)},
                                    {"planned", json_value(figure.planned)},
                                    {"explained", figure.explained}});
  if (answer.failure) {
    nlohmann::ordered_json& failure = json["failure"] = {
        {"code", answer.failure->code}, {"line", answer.failure->line}, {"text", answer.failure->text}};
    failure["try"] = nlohmann::ordered_json::array();
    for (const BootTry& one : answer.failure->tries)
      failure["try"].push_back({{"what", one.what}, {"command", one.command}});
  }
  json["contradictions"] = answer.contradictions;
  if (!answer.undecided.empty()) json["undecided"] = answer.undecided;
  json["try"] = to_json(better_table(answer.better));
  add_run_json(json, answer);
  return json;
}

}  // namespace

std::string render_doctor(const DoctorAnswer& answer, Format format, const Style& style) {
  if (format == Format::json) return json_text(json_of(answer));
  if (format == Format::csv) return render_csv(figure_table(answer));
  return render_people(document_of(answer), format, style);
}

}  // namespace hybridkv
