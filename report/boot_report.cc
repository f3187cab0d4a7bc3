#include "report/boot_report.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/plan/kernel_json.h"
#include "report/plan/kernel_text.h"

namespace hybridkv {

namespace {

std::string rules_text_of(const BootAnswer& answer) {
  return fmt::format("{}{}", answer.rules->name,
                     answer.backend_profile ? fmt::format(", {}", to_string(*answer.backend_profile)) : "");
}

std::string result_of(const BootAnswer& answer) {
  if (answer.boots())
    return fmt::format("RESULT: {} boots by the rules of {}", answer.model, rules_text_of(answer));
  return fmt::format("RESULT: {} does not boot by the rules of {}: {}", answer.model, rules_text_of(answer),
                     answer.failures.front().message);
}

/// What the start comes to, one row a figure.
Table boot_figures(const BootAnswer& answer) {
  using Row = std::pair<const char*, Cell>;
  const std::vector<Field<Row>> fields{{{"name", "figure"}, &Row::first}, {{"value", "value"}, &Row::second}};
  std::vector<Row> rows{{"max_model_len", answer.length},
                        {"max_num_seqs", answer.max_num_seqs},
                        {"memory_bytes", answer.memory_bytes}};
  if (!answer.plan) return table_of(fields, rows);
  const CachePlan& plan = *answer.plan;
  const CapacityPlan& capacity = plan.capacity.front();
  rows.emplace_back("block_size_tokens", primary_block_tokens(plan));
  if (const SpecPlan* const state = largest_state(plan))
    rows.emplace_back("padding_percent", Real{state->padding_percent});
  const ArenaPlan& arena = plan.arena_of(primary_group(plan));
  rows.emplace_back("bytes_per_block", arena.bytes_per_id);
  rows.emplace_back("num_blocks", arena.num_ids);
  if (answer.state_blocks > 0) rows.emplace_back("state_blocks", answer.state_blocks);
  rows.emplace_back("blocks_per_request", capacity.blocks_per_request);
  rows.emplace_back("max_concurrency", Real{capacity.max_concurrency});
  rows.emplace_back("kv_cache_tokens", capacity.kv_cache_tokens);
  rows.emplace_back("max_fitting_tokens", Length{plan.max_fitting_tokens});
  rows.emplace_back("max_running_requests", plan.max_running_requests);
  return table_of(fields, rows);
}

Facts budget_facts(const MemoryBudget& budget) {
  Facts facts;
  const auto add = [&](const char* name, std::int64_t bytes, const std::string& remark) {
    facts.entries.emplace_back(name, fmt::format("{} bytes, {}{}", human_count(bytes), human_bytes(bytes), remark));
  };
  add(std::string(budget.gpu.name).c_str(), budget.gpu.total_bytes, " in all");
  add("may be taken", budget.requested_bytes, fmt::format(", {} of it", budget.utilization));
  add("weights", budget.weights_bytes,
      budget.weights_basis.empty() ? " on one rank, as given" : " on one rank, COUNTED: " + budget.weights_basis);
  add("beside them", budget.beside_bytes,
      budget.beside_is_estimated ? ": activations, graphs and the rest, ESTIMATED" : " as given");
  facts.entries.emplace_back("for the cache", fmt::format("{} bytes, {:.2f} GiB", human_count(budget.available_bytes),
                                                          static_cast<double>(budget.available_bytes) / (1 << 30)));
  return facts;
}

/// Packs are printed by none that is released.
std::string printed_by(const BootAnswer& answer) {
  if (!answer.plan || answer.plan->attention_pack_size == 1) return "The engine prints";
  return answer.rules->builder.empty() ? "An engine with PR 35703 would print" : "The engine prints with that builder";
}

Document boot_document(const BootAnswer& answer) {
  Document document;
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Paragraph{result_of(answer)});
  if (answer.failures.size() > 1) {
    Listing then{.items = {}, .warning = true};
    for (std::size_t i = 1; i < answer.failures.size(); ++i) then.items.push_back("then " + answer.failures[i].message);
    add(then);
  }
  if (!answer.warnings.empty()) add(Listing{answer.warnings, true});
  add_kernels(document, answer.kernels());
  if (!answer.tries.empty()) {
    Code commands;
    for (const BootTry& one : answer.tries) commands.lines.push_back(one.command);
    add(Paragraph{answer.boots() ? "These start without the warning:" : "These start:"});
    add(std::move(commands));
  }
  if (!answer.serve.command.empty()) {
    add(Heading{"Start it"});
    add(Code{{answer.serve.command}});
  }
  if (!answer.lines.empty()) {
    add(Heading{printed_by(answer)});
    add(Code{answer.lines});
  }
  add(Heading{"Figures"});
  add(boot_figures(answer));
  if (answer.budget) {
    add(Heading{"Memory of a GPU"});
    add(budget_facts(*answer.budget));
  }
  if (!answer.estimates.empty()) add(Listing{answer.estimates});
  return document;
}

nlohmann::ordered_json json_of(const BootAnswer& answer) {
  nlohmann::ordered_json json{{"schema", "hybridkv-boot/1"},
                              {"result", answer.boots() ? "boots" : "does_not_boot"},
                              {"model", answer.model},
                              {"release", answer.rules->name},
                              {"backend_profile", nullptr},
                              {"gpu", nullptr}};
  if (answer.backend_profile) json["backend_profile"] = to_string(*answer.backend_profile);
  if (answer.budget) {
    const MemoryBudget& budget = *answer.budget;
    json["gpu"] = {{"name", budget.gpu.name},
                   {"total_bytes", budget.gpu.total_bytes},
                   {"utilization", budget.utilization},
                   {"requested_bytes", budget.requested_bytes},
                   {"weights_bytes", budget.weights_bytes},
                   {"weights_are_counted", !budget.weights_basis.empty()},
                   {"beside_bytes", budget.beside_bytes},
                   {"beside_is_estimated", budget.beside_is_estimated},
                   {"available_bytes", budget.available_bytes}};
  }
  nlohmann::ordered_json& figures = json["figures"] = nlohmann::ordered_json::object();
  for (const nlohmann::ordered_json& row : to_json(boot_figures(answer)))
    figures[row["name"].get<std::string>()] = row["value"];
  json["command"] = nullptr;
  if (!answer.serve.command.empty()) json["command"] = answer.serve.command;
  json["lines"] = answer.lines;
  json["fails_first"] = nullptr;
  if (!answer.boots()) json["fails_first"] = answer.failures.front().code;
  json["failures"] = nlohmann::ordered_json::array();
  for (const BootFailure& failure : answer.failures)
    json["failures"].push_back({{"code", failure.code}, {"message", failure.message}});
  json["warnings"] = answer.warnings;
  if (const std::vector<KernelFit> kernels = answer.kernels(); !kernels.empty())
    json["kernels"] = JsonWriter::encode(kernels);
  json["estimates"] = answer.estimates;
  json["try"] = nlohmann::ordered_json::array();
  for (const BootTry& one : answer.tries) json["try"].push_back({{"what", one.what}, {"command", one.command}});
  return json;
}

}  // namespace

std::string render_boot(const BootAnswer& answer, Format format, const Style& style) {
  if (format == Format::json) return json_text(json_of(answer));
  if (format == Format::csv) {
    Table table = boot_figures(answer);
    for (const KernelFit& fit : answer.kernels())
      table.add_row({figure_of_kernel(fit.kernel), std::string(to_string(fit.verdict))});
    return render_csv(table);
  }
  return render_people(boot_document(answer), format, style);
}

}  // namespace hybridkv
