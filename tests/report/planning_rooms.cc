#include "tests/report/planning_rooms.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "ask/compare/compare.h"
#include "ask/plan.h"
#include "ask/replay/sweep.h"
#include "ask/start/boot.h"
#include "ask/start/doctor.h"
#include "ask/transfer/transfer.h"
#include "engines/engine.h"
#include "planner/evidence.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/boot_report.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_report.h"
#include "report/replay/sweep_row.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv::testing {

namespace {

using Says = std::map<std::string, std::string>;

/// What several rooms say: its name here, and in CSV, JSON and the rows of a comparison.
struct SharedName {
  std::string_view fact, column;
};

constexpr SharedName shared_names[] = {
    {"block", "block_size_tokens"},
    {"kernel block", "kernel_block_size_tokens"},
    {"page", "page_bytes"},
    {"padding", "padding_percent"},
    {"ids there are", "num_blocks"},
    {"ids that can be had", "usable_blocks"},
    {"ids of a request", "blocks_per_request"},
    {"bytes of a request", "bytes_per_request"},
    {"ideal bytes of a request", "ideal_bytes_per_request"},
    {"printed concurrency", "max_concurrency"},
    {"usable concurrency", "usable_concurrency"},
    {"KV cache tokens", "kv_cache_tokens"},
    {"longest request", "max_fitting_tokens"},
    {"running requests", "max_running_requests"},
    {"match unit", "match_unit_tokens"},
    {"shortest prefix", "min_cacheable_prefix_tokens"},
    {"mode", "cache_mode"},
    {"release", "release"},
    {"drafts", "speculative_tokens"},
    {"N", "attention_pack_size"},
    {"unallocated", "unallocated_bytes"},
    {"evidence", "evidence"},
    {"fits", "fits"},
    {"ids for tokens", "ids_for_tokens"},
    {"ids for states", "ids_for_states"},
    {"ids for drafts", "ids_for_drafts"},
    {"ids for exported states", "ids_for_checkpoints"},
    {"ids for steps in flight", "ids_in_flight"},
    {"ids for others", "ids_for_extras"},
    {"ids for the encoder", "ids_for_encoder"},
};

void say_causes(Says& says, const IdsByCause& ids) {
  says["ids for tokens"] = word_of(ids.tokens);
  says["ids for states"] = word_of(ids.states);
  says["ids for drafts"] = word_of(ids.speculative);
  says["ids for exported states"] = word_of(ids.checkpoints);
  says["ids for steps in flight"] = word_of(ids.in_flight_window);
  says["ids for others"] = word_of(ids.other);
  says["ids for the encoder"] = word_of(ids.encoder);
}

/// Says what `text` has under the names of columns; nothing where it has no such column. Programs read no number where
/// no length is too long.
template <class Text>
void say_columns(Says& says, const Text& text) {
  for (const SharedName& name : shared_names) {
    const std::optional<std::string> value = text(std::string(name.column));
    if (!value) continue;
    const bool unbounded = name.fact == "longest request" && *value == "none";
    says[std::string(name.fact)] = unbounded ? word_of(largest_tokens) : *value;
  }
}

void say_plan(Says& says, const CachePlan& plan) {
  const CapacityPlan& capacity = plan.capacity.back();
  const ArenaPlan& arena = plan.arena_of(primary_group(plan));
  says["ids there are"] = word_of(arena.num_ids);
  says["ids that can be had"] = word_of(arena.usable_ids());
  says["ids of a request"] = word_of(capacity.blocks_per_request);
  says["bytes of a request"] = word_of(capacity.bytes_per_request);
  says["ideal bytes of a request"] = word_of(capacity.ideal_bytes_per_request);
  says["printed concurrency"] = word_of(capacity.max_concurrency);
  says["usable concurrency"] = word_of(capacity.usable_concurrency);
  says["KV cache tokens"] = word_of(capacity.kv_cache_tokens);
  says["longest request"] = word_of(plan.max_fitting_tokens);
  says["running requests"] = word_of(plan.max_running_requests);
  says["match unit"] = word_of(plan.prefix.match_unit_tokens);
  says["shortest prefix"] = word_of(plan.prefix.min_cacheable_prefix_tokens);
  says["mode"] = to_string(plan.cache_mode);
  says["release"] = plan.rules->name;
  says["drafts"] = word_of(plan.speculative_tokens);
  says["N"] = word_of(plan.attention_pack_size);
  says["unallocated"] = word_of(plan.waste.unallocated_bytes);
  says["fits"] = word_of(capacity.fits);
  says["evidence"] = to_string(evidence_of(plan));
  if (plan.pool_groups && !plan.pool_groups->first_manager) {
    const GroupHost& host = plan.pool_groups->host;
    says["pools"] = fmt::format("{} and {}, host {} and {}", plan.arenas[0].num_ids, plan.arenas[1].num_ids,
                                host.blocks, host.states);
  }
  say_causes(says, capacity.ids_by_cause);
}

/// The cells of a line of CSV without quotes, numbers in the words of word_of.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) {
    const bool has_fraction =
        cell.find_first_of(".e") != std::string::npos && cell.find_first_not_of("0123456789.e+-") == std::string::npos;
    cells.push_back(cell.empty() ? "none" : has_fraction ? word_of(std::stod(cell)) : cell);
  }
  if (line.ends_with(',')) cells.emplace_back("none");
  return cells;
}

RoomAnswer csv_room(const AskedQuestion& asked) {
  return answer_of("plan --format csv", [&](RoomAnswer& answer) {
    const PlanSet set = plan_scenario(*asked.scenario, asked.scenario->pack_sizes);
    std::istringstream text(render_plan(set, plan_answer(set), Format::csv));
    std::string heading, row;
    std::getline(text, heading);
    std::getline(text, row);
    const std::vector<std::string> names = cells_of(heading), cells = cells_of(row);
    say_columns(answer.says, [&](const std::string& column) -> std::optional<std::string> {
      const auto found = std::find(names.begin(), names.end(), column);
      if (found == names.end()) return std::nullopt;
      return cells.at(static_cast<std::size_t>(found - names.begin()));
    });
  });
}

RoomAnswer json_room(const AskedQuestion& asked) {
  return answer_of("plan --format json", [&](RoomAnswer& answer) {
    const PlanSet set = plan_scenario(*asked.scenario, asked.scenario->pack_sizes);
    const auto json = nlohmann::ordered_json::parse(render_plan(set, plan_answer(set), Format::json));
    const auto& plan = json.at("plans").at(0);
    const auto& capacity = plan.at("capacity").back();
    say_columns(answer.says, [&](const std::string& column) -> std::optional<std::string> {
      for (const auto* part : {&plan, &capacity, &plan.at("prefix"), &plan.at("waste")})
        if (part->contains(column)) return word_of(part->at(column));
      return std::nullopt;
    });
    const auto& ids = capacity.at("ids_by_cause");
    say_causes(answer.says, {ids.at("tokens"), ids.at("states"), ids.at("speculative"), ids.at("checkpoints"),
                             ids.at("in_flight_window"), ids.at("other"),
                             ids.value("encoder", std::int64_t{0})});
  });
}

/// What decisions are called that come to a number of several rooms.
constexpr SharedName decided_names[] = {
    {"longest request", "longest request"},
    {"running requests", "running requests"},
    {"match unit", "match unit"},
    {"printed concurrency", "max concurrency"},
    {"usable concurrency", "usable concurrency"},
    {"KV cache tokens", "KV cache tokens"},
    {"ids of a request", "block ids of one request"},
    {"bytes of a request", "bytes of one request"},
    {"ideal bytes of a request", "ideal bytes of one request"},
    {"unallocated", "unallocated"},
};
constexpr SharedName decided_causes[] = {
    {"ids for tokens", "tokens"},
    {"ids for states", "states"},
    {"ids for drafts", "speculative states"},
    {"ids for exported states", "exported checkpoints"},
    {"ids for steps in flight", "tokens in flight of windows"},
    {"ids for others", "what the model has beside"},
};

RoomAnswer explain_room(const AskedQuestion& asked) {
  return answer_of("explain", [&](RoomAnswer& answer) {
    std::string text;
    const auto plan_at = [&](std::size_t i) { return plan_pack(*asked.scenario, i, PlanDetail::derived); };
    write_explain({"model", 1, 1, {}, plan_at}, Format::json, {}, [&](const std::string& piece) { text += piece; });
    const auto json = nlohmann::ordered_json::parse(text);
    for (const auto& decision : json.at("plans").at(0).at("derivation")) {
      const std::string symbol = decision.at("result").at("symbol").get<std::string>();
      const std::string value = word_of(decision.at("result").at("value"));
      for (const auto& [fact, name] : decided_names)
        if (symbol == name) answer.says[std::string(fact)] = value;
      for (const auto& [fact, name] : decided_causes)
        if (symbol.starts_with(fmt::format("ids for {} at ", name))) answer.says[std::string(fact)] = value;
    }
  });
}

std::string compared_word(const ComparedValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* flag = std::get_if<bool>(&value)) return word_of(*flag);
  if (const auto* count = std::get_if<std::int64_t>(&value)) return word_of(*count);
  if (const auto* real = std::get_if<double>(&value)) return word_of(*real);
  return "none";
}

RoomAnswer compare_room(const AskedQuestion& asked) {
  return answer_of("compare", [&](RoomAnswer& answer) {
    const CompareAnswer comparison = compare(compare_settings({asked.file}, {}, 1));
    say_columns(answer.says, [&](const std::string& column) -> std::optional<std::string> {
      for (const ComparedRow& row : comparison.rows)
        if (row.name == column) return compared_word(row.values.front());
      return std::nullopt;
    });
  });
}

RoomAnswer sweep_room(const AskedQuestion& asked) {
  return answer_of("sweep", [&](RoomAnswer& answer) {
    const ScenarioSweep sweep(asked.file);
    const SweepPoint point = SweepWorker(sweep, {}).answer({0}).front();
    if (point.status == PointStatus::impossible) {
      answer.refusal = refusal_of({}, point.reason);
      return;
    }
    const SweepRows rows({.axes = {}, .format = SweepFormat::jsonl, .num_points = 1, .identity = {}});
    const auto row = nlohmann::ordered_json::parse(rows.row(point, {}));
    say_columns(answer.says, [&](const std::string& column) -> std::optional<std::string> {
      if (row.contains(column)) return word_of(row.at(column));
      return std::nullopt;
    });
  });
}

BootAnswer start_of(const AskedQuestion& asked) {
  return boot({.file = asked.file, .gpu = {}, .printed_memory = {}, .max_num_seqs = {}, .enforce_eager = true,
               .scenario_word = {}, .typed = {}});
}

RoomAnswer boot_room(const AskedQuestion& asked) {
  return answer_of("boot", [&](RoomAnswer& answer) {
    const BootAnswer start = start_of(asked);
    const auto failed = [&](std::string_view code) {
      return std::any_of(start.failures.begin(), start.failures.end(),
                         [&](const BootFailure& failure) { return failure.code == code; });
    };
    answer.says["fits"] = word_of(!failed("memory") && !failed("longest_request"));
    answer.says["release"] = start.rules->name;
    if (!start.plan) return;
    const auto figures = nlohmann::ordered_json::parse(render_boot(start, Format::json)).at("figures");
    say_columns(answer.says, [&](const std::string& column) -> std::optional<std::string> {
      if (figures.contains(column)) return word_of(figures.at(column));
      return std::nullopt;
    });
    say_causes(answer.says, start.plan->capacity.front().ids_by_cause);
  });
}

/// The log of a start is explained by the settings that it was made with, to the last digit.
RoomAnswer doctor_room(const AskedQuestion& asked) {
  return answer_of("doctor", [&](RoomAnswer& answer) {
    const BootAnswer start = start_of(asked);
    StartupLogReader reader;
    for (std::size_t line = 0; line < start.lines.size(); ++line)
      reader.add(start.lines[line], static_cast<std::int64_t>(line) + 1);
    ScenarioFile file = asked.file;  // other rooms replay the requests
    apply_override(file, "simulate", "null", "the test");
    const DoctorAnswer told =
        doctor({.log = reader.finish(), .log_name = "random.log", .asked = std::move(file), .typed = {}});
    answer.limits.push_back({"contradictions", std::ssize(told.contradictions), 0});
    answer.limits.push_back({"figures without a rule", !told.explained.is_complete(), 0});
  });
}

/// A request of this many tokens moves from a deployment to another one like it.
constexpr std::int64_t most_moved_tokens = 3000;

RoomAnswer transfer_room(const AskedQuestion& asked) {
  return answer_of("transfer", [&](RoomAnswer& answer) {
    const Scenario scenario = read_scenario(asked.file);
    const std::int64_t tokens = std::min(most_moved_tokens, scenario.limits.max_model_lens.back());
    const TransferAnswer moved = transfer({.from = scenario, .to = scenario, .tokens = tokens, .from_ids = {},
                                           .to_ids = {}, .options = {}});
    if (scenario.engine.pipeline_parallel == 1)
      answer.says["block"] = word_of(moved.from.block_tokens);
    answer.says["evidence"] = to_string(moved.from.evidence);
    answer.says["release"] = moved.to.engine.rules->name;
    answer.says["match unit of what is found"] = word_of(moved.map->from().prefix_unit);
    const CachePlan& plan = moved.map->from().stages.front();
    const Demand most = request_demand(plan, tokens);
    const Demand used = num_held_ids(plan, moved.request.from.ids.front());
    for (std::size_t arena = 0; arena < most.ids.size(); ++arena)
      answer.limits.push_back({fmt::format("ids held of arena {}", arena), used.ids[arena], most.ids[arena]});
  });
}

}  // namespace

RoomAnswer plan_room(AskedQuestion& asked) {
  return answer_of("plan", [&](RoomAnswer& answer) {
    asked.scenario = read_scenario(asked.file);
    PlanSet set = plan_scenario(*asked.scenario, asked.scenario->pack_sizes);
    asked.plan = std::move(set.plans.front());
    say_plan(answer.says, *asked.plan);
    const PrefixPlan& prefix = asked.plan->prefix;
    answer.says["match unit of what is found"] =
        word_of(prefix.cacheable ? prefix.match_unit_tokens : std::int64_t{0});
    answer.says["is modelled"] = word_of(!was_run(evidence_of(*asked.plan)));
    const auto& asked_for = asked.scenario->simulate.retention_interval_tokens;
    answer.says["retention"] =
        word_of(asked_for ? asked_for : asked.plan->rules->retention_tokens);
  });
}

std::vector<RoomAnswer> planning_rooms(const AskedQuestion& asked) {
  std::vector<RoomAnswer> answers;
  if (asked.plan) answers = {csv_room(asked), json_room(asked), explain_room(asked)};
  answers.push_back(compare_room(asked));
  answers.push_back(sweep_room(asked));
  answers.push_back(boot_room(asked));
  answers.push_back(transfer_room(asked));
  const bool has_log = asked.plan && asked.plan->capacity.back().fits && !asked.scenario->engine.num_blocks &&
                       engine_of(*asked.plan->rules).log && engine_of(*asked.plan->rules).start &&
                       asked.plan->strategy == asked.plan->rules->strategy;
  if (has_log) answers.push_back(doctor_room(asked));
  return answers;
}

}  // namespace hybridkv::testing
