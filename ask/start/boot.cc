#include "ask/start/boot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ask/asked_key.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "ask/start/counted_weights.h"
#include "ask/start/serve_plan.h"
#include "ask/typed_list.h"
#include "base/error.h"
#include "base/number_text.h"
#include "engines/engine.h"
#include "planner/default_mode.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

constexpr const char* boot_default = "boot";  ///< where values stand that nobody wrote

/// The question with a value for everything that the user left open.
struct DecidedStart {
  Scenario scenario;
  const EngineStart* engine = nullptr;
  std::optional<MemoryBudget> budget;
  std::int64_t length = 0;
  std::int64_t max_num_seqs = 0;
};

/// The engine that the file means; a name of none is refused as the scenario is read.
const Engine& engine_named(const ScenarioFile& file) {
  const YamlNode* const engine = file.root.find("engine");
  const YamlNode* const release = engine ? engine->find("release") : nullptr;
  const EngineRules* const rules = release ? rules_named(release->text) : nullptr;
  return rules ? engine_of(*rules) : engine_of_today();
}

DecidedStart decided(const BootQuestion& question) {
  DecidedStart start;
  ScenarioFile file = question.file;
  const auto set = [&](const char* key, const std::string& value) {
    if (!is_asked(file, "engine", key)) apply_override(file, fmt::format("engine.{}", key), value, boot_default);
  };
  const Engine& engine = engine_named(file);
  if (!engine.start)
    throw located(not_known_of(*engine.rules, "how {} starts", "hybridkv plan shows how it shares memory"),
                  read_scenario(file));
  start.engine = engine.start;
  if (question.gpu) {
    if (is_asked(file, "engine", "pipeline_memory"))
      throw error_at(file.root.find("engine")->find("pipeline_memory")->place,
                     "engine.pipeline_memory: the memory of a GPU is that of every stage; leave one of them out");
    const Gpu& gpu = question.gpu->gpu;
    CountedWeights weights;
    if (question.gpu->weights_bytes) {
      weights.bytes = *question.gpu->weights_bytes;
    } else {
      const Scenario asked = read_scenario(file);
      weights = counted_weights(asked.model, asked.engine);
    }
    start.budget = memory_budget(gpu, question.gpu->utilization, weights.bytes, question.gpu->beside_bytes,
                                 *start.engine);
    start.budget->weights_basis = weights.basis;
    if (engine.rules->one_allocation && gpu.profile)
      set("backend_profile", std::string(to_string(*gpu.profile)));
    set("max_num_batched_tokens", std::to_string(start.engine->server(gpu).max_num_batched_tokens));
    apply_override(file, "engine.memory", std::to_string(std::max<std::int64_t>(1, start.budget->available_bytes)),
                   boot_default);
  }
  start.scenario = read_scenario(file);
  // Of several in a file the first pack and the longest length are taken.
  refuse_typed_list(start.scenario, "engine.attention_pack_size", start.scenario.pack_sizes, "compare");
  refuse_typed_list(start.scenario, "limits.max_model_len", start.scenario.limits.max_model_lens, "plan");
  const LimitsSpec& limits = start.scenario.limits;
  start.length = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
  if (question.max_num_seqs) start.max_num_seqs = *question.max_num_seqs;
  else if (is_asked(file, "simulate", "max_num_seqs") || !question.gpu)
    start.max_num_seqs = start.scenario.simulate.scheduler.max_num_seqs;
  else start.max_num_seqs = start.engine->server(question.gpu->gpu).max_num_seqs;
  return start;
}

/// The plan with as many blocks as the memory gives, whether or not the longest request fits, held against kernels;
/// nothing where not even the shortest does.
std::optional<CachePlan> boot_plan(const Scenario& scenario, std::int64_t length,
                                   const std::vector<KernelCard>& kernels = {}) {
  try {
    if (kernels.empty()) return plan_fitting_or_not(scenario.model, scenario.engine, length);
    CachePlan plan = plan_fitting_or_not(scenario.model, scenario.engine, length, PlanDetail::full);
    judge_kernels(kernels, plan);
    return plan;
  } catch (const SpecError& error) {
    if (!is_lack_of_room(error)) throw;
    return std::nullopt;
  }
}

/// What is estimated instead of derived, and by how much estimates were off for starts whose logs are published.
std::vector<std::string> estimates_of(const BootAnswer& answer, const BootQuestion& question,
                                      const DecidedStart& start) {
  const Scenario& scenario = start.scenario;
  std::vector<std::string> estimates;
  if (answer.budget && answer.budget->beside_is_estimated) {
    std::string text = fmt::format("estimated, not derived: {} beside weights and cache; on published starts that was",
                                   printed_gib(start.engine->beside_bytes));
    for (const PublishedStart& one : start.engine->published)
      text += fmt::format("{} {:.2f} GiB too {} ({})", &one == &start.engine->published.front() ? "" : " and",
                          std::abs(start.engine->error_gib(one)), start.engine->error_gib(one) < 0 ? "little" : "much",
                          one.what);
    estimates.push_back(text + "; --beside or --available-memory says it exactly");
  }
  if (answer.budget && !answer.budget->weights_basis.empty())
    estimates.push_back(fmt::format("the weights are counted: {}; --weights says what an engine measured",
                                    answer.budget->weights_basis));
  if (answer.budget && !question.enforce_eager)
    estimates.emplace_back("graph memory is part of that; engines since 0.21 set it aside before they size the cache, "
                           "those before it capture graphs in what --utilization leaves free");
  if (scenario.pack_sizes.size() > 1)
    estimates.push_back(fmt::format("of N = {} the first is planned; --pack says another",
                                    fmt::join(scenario.pack_sizes, ", ")));
  if (scenario.limits.max_model_lens.size() > 1)
    estimates.push_back(fmt::format("of the lengths {} the longest is planned; --max-model-len says another",
                                    fmt::join(scenario.limits.max_model_lens, ", ")));
  if (answer.plan && answer.plan->attention_pack_size > 1)
    estimates.push_back(
        answer.rules->builder.empty()
            ? fmt::format("no release packs attention layers: N = {} needs PR 35703, and the lines are those that {} "
                          "with it would print", answer.plan->attention_pack_size, answer.rules->title)
            : fmt::format("no release packs attention layers by itself: the lines are those of {} with the builder of "
                          "`hybridkv emit {}`", answer.rules->title, answer.rules->builder));
  if (!question.printed_memory || !answer.plan) return estimates;
  // Printed GiB have two decimals.
  constexpr std::int64_t half_of_last_digit = (std::int64_t{1} << 30) / 200;
  std::vector<std::int64_t> blocks;
  for (const std::int64_t sign : {-1, 1}) {
    Scenario other = scenario;
    set_memory(other.engine, *question.printed_memory + sign * half_of_last_digit);
    if (const auto plan = other.engine.memory_bytes > 0 ? boot_plan(other, answer.length) : std::nullopt)
      blocks.push_back(plan->arena_of(primary_group(*plan)).num_ids);
  }
  if (blocks.size() == 2 && blocks.front() != blocks.back())
    estimates.push_back(fmt::format("engines round the memory to 0.01 GiB as they print it: the blocks may be {} to {}",
                                    human_count(blocks.front()), human_count(blocks.back())));
  return estimates;
}

/// Finds what stops the start. `num_blocks`: the number that the user sets in place of memory, if any.
void check_start(BootAnswer& answer, const BootQuestion& question, const std::optional<std::int64_t>& num_blocks) {
  if (answer.budget && answer.budget->available_bytes <= 0) {
    answer.failures.push_back(
        {"memory", fmt::format("no memory is left for the cache: {} of {} may be taken, weights need {} and the rest "
                               "about {}", printed_gib(answer.budget->requested_bytes),
                               printed_gib(answer.budget->gpu.total_bytes), printed_gib(answer.budget->weights_bytes),
                               printed_gib(answer.budget->beside_bytes))});
    return;
  }
  if (!answer.plan) {
    const std::string room = num_blocks ? human_plural(*num_blocks, "block") : printed_gib(answer.memory_bytes);
    answer.failures.push_back({"memory", fmt::format("{} hold not even a request of one token", room)});
    return;
  }
  const CachePlan& plan = *answer.plan;
  const CapacityPlan& capacity = plan.capacity.front();
  if (!capacity.fits)
    answer.failures.push_back(
        {"longest_request",
         fmt::format("one request of {} needs {}, {}; there are {}, of which {} can be had: the longest "
                     "that fits has {}",
                     human_plural(answer.length, "token"), human_plural(capacity.blocks_per_request, "block"),
                     printed_gib(capacity.bytes_per_request), human_count(all_ids(plan).total()),
                     human_count(usable_ids(plan).total()), human_plural(plan.max_fitting_tokens, "token"))});
  if (answer.state_blocks > 0 && !question.enforce_eager && answer.max_num_seqs > answer.state_blocks)
    answer.failures.push_back(
        {"running_requests",
         fmt::format("max_num_seqs ({}) exceeds available Mamba cache blocks ({}): each running request takes one at "
                     "least, and graphs are captured for all of them", answer.max_num_seqs, answer.state_blocks)});
}

void warn_of_boot(BootAnswer& answer) {
  if (!answer.plan) return;
  const CachePlan& plan = *answer.plan;
  const CapacityPlan& capacity = plan.capacity.front();
  // Drafts need no more: behind max_model_len no draft has a slot (vLLM KVCacheManager.allocate_slots).
  if (capacity.fits && !fits(plan, request_demand(plan, answer.length)))
    answer.warnings.push_back(fmt::format(
        "the check of the start counts the null block, which nobody gets: a request of {} needs {}, and "
        "{} can be had: it preempts itself for ever; the longest that ends has {}",
        human_plural(answer.length, "token"), human_plural(capacity.blocks_per_request, "block"),
        human_count(usable_ids(plan).total()), human_plural(plan.max_fitting_tokens, "token")));
  if (answer.boots() && answer.max_num_seqs > plan.max_running_requests)
    answer.warnings.push_back(
        fmt::format("up to {} requests are admitted, but only {} of one token and {} of {} can run at once: the "
                    "others wait or are preempted", human_count(answer.max_num_seqs),
                    human_count(plan.max_running_requests), static_cast<std::int64_t>(capacity.usable_concurrency),
                    human_plural(answer.length, "token")));
}

/// The command of such a start.
ServeCommand serve_of(const DecidedStart& start, const BootQuestion& question, const CachePlan& plan) {
  StartChoice choice{.says_mode = is_asked(question.file, "engine", "cache_mode"),
                     .enforce_eager = question.enforce_eager,
                     .gpu_share = {},
                     .max_num_seqs = start.max_num_seqs};
  if (question.gpu) choice.gpu_share = question.gpu->utilization;
  return serve_plan(start.scenario, plan, choice);
}

BootAnswer answer_of(const DecidedStart& start, const BootQuestion& question) {
  const EngineRules& rules = *start.scenario.engine.rules;
  BootAnswer answer;
  answer.model = start.scenario.model.name;
  answer.rules = start.scenario.engine.rules;
  answer.backend_profile = start.scenario.engine.backend_profile;
  answer.budget = start.budget;
  answer.memory_bytes = start.budget ? start.budget->available_bytes : start.scenario.engine.memory_bytes;
  answer.length = start.length;
  answer.ranks = start.scenario.engine.tensor_parallel;
  answer.max_num_seqs = start.max_num_seqs;
  if (!start.budget || start.budget->available_bytes > 0)
    answer.plan = boot_plan(start.scenario, start.length, question.kernels);
  if (answer.plan) {
    if (largest_state(*answer.plan)) answer.state_blocks = usable_ids(*answer.plan).total();
    answer.lines = start.engine->lines(*answer.plan, start.scenario.engine);
  }
  if (const UnservedModels* const models = unserved_by(rules, start.scenario.model))
    answer.failures.push_back({"not_served", unserved_text(rules, *models)});
  answer.estimates = estimates_of(answer, question, start);
  check_start(answer, question, start.scenario.engine.num_blocks);
  warn_of_boot(answer);
  if (answer.boots() && answer.plan) answer.serve = serve_of(start, question, *answer.plan);
  return answer;
}

BootAnswer boot_answer(const BootQuestion& question) {
  const DecidedStart start = decided(question);
  try {
    return answer_of(start, question);
  } catch (const SpecError& error) {
    throw located(error, start.scenario);
  }
}

/// Flags that change a question, the key each stands for, and what that means.
struct BootChange {
  std::vector<std::pair<TypedFlag, std::string>> flags;  ///< key empty: no key of the scenario
  std::string what;
};

BootQuestion with_change(BootQuestion question, const BootChange& change) {
  for (const auto& [flag, key] : change.flags) {
    if (!key.empty()) apply_override(question.file, key, flag.second, flag.first + " " + flag.second);
    if (flag.first == "--max-num-seqs") question.max_num_seqs = std::stoll(flag.second);
    if (flag.first == "--utilization") question.gpu->utilization = std::stod(flag.second);
    std::erase_if(question.typed, [&](const TypedFlag& typed) { return typed.first == flag.first; });
    question.typed.push_back(flag);
  }
  return question;
}

std::string boot_command_of(const BootQuestion& question) {
  std::string command = "hybridkv boot";
  if (!question.scenario_word.empty()) command += " " + question.scenario_word;
  for (const auto& [flag, value] : question.typed) command += " " + flag + (value.empty() ? "" : " " + value);
  return command;
}

/// What may help, the least first. Lengths and counts are those that the plan itself gives.
std::vector<BootChange> boot_changes_for(const BootQuestion& question, const BootAnswer& answer) {
  std::vector<BootChange> changes;
  const auto flag = [](const char* name, const std::string& value, const char* key) {
    return std::pair(TypedFlag{name, value}, std::string(key));
  };
  const bool too_many = answer.state_blocks > 0 && answer.max_num_seqs > answer.state_blocks && !question.enforce_eager;
  const auto seqs = flag("--max-num-seqs", std::to_string(answer.state_blocks), "");
  const auto with_seqs = [&](BootChange change) {
    if (too_many) change.flags.push_back(seqs);
    return change;
  };
  const bool admits_more = answer.boots() && answer.max_num_seqs > answer.plan->max_running_requests;
  if (admits_more)
    changes.push_back({{flag("--max-num-seqs", std::to_string(answer.plan->max_running_requests), "")},
                       fmt::format("at most {} running requests", answer.plan->max_running_requests)});
  const bool too_long = answer.plan && (!answer.plan->capacity.front().fits || !answer.warnings.empty());
  if (too_many) changes.push_back({{seqs}, fmt::format("at most {} running requests", answer.state_blocks)});
  if (too_long && answer.plan->max_fitting_tokens > 0) {
    const std::int64_t length = std::min(answer.length, answer.plan->max_fitting_tokens);
    changes.push_back(with_seqs({{flag("--max-model-len", std::to_string(length), "limits.max_model_len")},
                                 fmt::format("at most {} tokens a request", human_count(length))}));
  }
  if (question.gpu)
    for (const char* share : {"0.92", "0.95", "0.97"})
      if (std::stod(share) > question.gpu->utilization)
        changes.push_back({{flag("--utilization", share, "")}, fmt::format("{} of the GPU", share)});
  if (answer.plan) {
    const SpecPlan* const attention = primary_attention(*answer.plan);
    if (attention && !attention->attention->format && element_bytes(attention->attention->dtype) > 1)
      changes.push_back(with_seqs({{flag("--kv-dtype", "fp8_e4m3", "engine.kv_dtype")}, "K and V in fp8"}));
    if (answer.plan->cache_mode != CacheMode::none)
      changes.push_back(with_seqs({{flag("--mode", "none", "engine.cache_mode")}, "no prefix caching"}));
  }
  // More GPUs cost most. Weights that were measured hold for the ranks they were measured on.
  if (question.gpu && !question.gpu->weights_bytes)
    for (const std::int64_t ranks : {2, 4, 8, 16})
      if (ranks > answer.ranks)
        changes.push_back({{flag("--tp", std::to_string(ranks), "engine.tensor_parallel")},
                           fmt::format("{} GPUs", ranks)});
  return changes;
}

}  // namespace

BootAnswer boot(const BootQuestion& question) {
  BootAnswer answer = boot_answer(question);
  if (answer.boots() && answer.warnings.empty()) return answer;
  constexpr std::size_t most_tries = 3;
  std::string last_flag;  // of several values of one flag the first that starts changes least
  for (const BootChange& change : boot_changes_for(question, answer)) {
    if (answer.tries.size() == most_tries) break;
    const std::string& flag = change.flags.front().first.first;
    if (flag == last_flag && flag != "--max-num-seqs") continue;
    try {
      const BootQuestion other = with_change(question, change);
      const BootAnswer tried = boot_answer(other);
      const bool is_better = !answer.boots() || tried.warnings.size() < answer.warnings.size();
      const bool is_worse = corrupts_kernel(tried.kernels()) && !corrupts_kernel(answer.kernels());
      if (!tried.boots() || !is_better || is_worse) continue;
      answer.tries.push_back({boot_command_of(other), change.what});
      last_flag = flag;
    } catch (const InputError&) {  // not for this model
    }
  }
  return answer;
}

}  // namespace hybridkv
