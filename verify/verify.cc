#include "verify/verify.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/number_text.h"
#include "base/resident_budget.h"
#include "layout/cosize.h"
#include "planner/demand.h"
#include "verify/check_table.h"
#include "verify/export.h"
#include "verify/fault/plant.h"
#include "verify/layout/block_ops_check.h"
#include "verify/layout/pool_set.h"
#include "verify/transfer/traffic.h"

namespace hybridkv {

namespace {

std::int64_t attention_block_tokens(const CachePlan& plan) {
  std::int64_t block = 1;
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention) block = std::max(block, spec.block_size_tokens);
  return block;
}

/// Of the windows and chunks that a small batch can reach beyond; 0 where there are none.
std::int64_t largest_window(const CachePlan& plan) {
  constexpr std::int64_t reachable = 16384;
  std::int64_t window = 0;
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention && spec.attention->window_tokens <= reachable)
      window = std::max(window, spec.attention->window_tokens);
  return window;
}

bool fit(const CachePlan& plan, std::span<const BatchRequest> requests) {
  Demand demand = no_demand(plan);
  for (const BatchRequest& request : requests) add_request(plan, request.tokens, demand);
  return fits(plan, demand);
}

std::int64_t peak_process_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/// Refuses before any allocation where the pages to be touched are more than this machine should give.
void require_budget(const CachePlan& plan, const VerifySpec& spec, const BlockAssignment& assignment) {
  Checked bytes = 0;
  std::size_t num_ids = 0;
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    std::set<std::int64_t> touched{0};
    touched.insert(assignment.guards[arena].begin(), assignment.guards[arena].end());
    for (std::size_t group = 0; group < plan.groups.size(); ++group)
      if (plan.groups[group].arena.index() == arena)
        for (std::int64_t id : assignment.ids_held_by(plan, group)) touched.insert(id);
    for (std::int64_t block : block_ops_blocks(plan, {static_cast<std::int64_t>(arena)})) touched.insert(block);
    num_ids += touched.size();
    for (const LanePlan& lane : plan.lanes)
      if (lane.arena.index() == arena) bytes += Checked(static_cast<std::int64_t>(touched.size())) * lane.bytes;
  }
  const ResidentBudget budget =
      spec.resident_budget_bytes ? ResidentBudget(*spec.resident_budget_bytes) : ResidentBudget();
  budget.require(bytes, fmt::format("verification of {} ({} in {})",
                                    human_plural(std::ssize(assignment.ids.front()), "request"),
                                    human_plural(static_cast<std::int64_t>(num_ids), "block id"),
                                    human_plural(std::ssize(plan.pools), "pool")));
}

std::int64_t largest_offset(const Traffic& traffic) {
  std::int64_t largest = 0;
  for (const BoundView& view : traffic.views) {
    const std::vector<std::int64_t> held = traffic.assignment.held_by(view.group, view.view.piece);
    if (!held.empty() && held.back() < traffic.plan.num_places(traffic.plan.groups[view.group]))
      largest = std::max(largest, cosize(view.page_bytes(held.back())) / view.element_bytes() - 1);
  }
  return largest;
}

/// Runs a table of checks stage by stage; the traffic is exported before anything overwrites it.
void run_checks(const Traffic& traffic, const VerifySpec& spec, const VerifyProgress& progress, VerifyReport& report) {
  CheckRun run{traffic};
  const std::span<const Check> checks = all_checks();
  bool safe = true, exported = spec.export_folder.empty();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    if (progress) progress(check.name, static_cast<int>(i), static_cast<int>(checks.size()));
    if (check.stage != CheckStage::addresses && !safe) {
      report.checks.push_back({.name = std::string(check.name),
                               .status = CheckStatus::not_run,
                               .message = "not run: addresses are wrong, so nothing was written"});
      continue;
    }
    if (check.stage == CheckStage::operations && !exported) {
      export_batches(traffic, spec.export_folder);
      exported = true;
    }
    CheckResult result = check.run(run);
    result.name = check.name;
    safe = safe && !(check.guards_memory && result.status != CheckStatus::passed);
    report.checks.push_back(std::move(result));
    if (spec.until_caught && report.caught() && check.name == info_of(*report.fault).found_by) break;
  }
  if (safe) report.max_element_offset = largest_offset(traffic);
}

}  // namespace

bool VerifyReport::passed() const {
  return no_place.empty() && std::all_of(checks.begin(), checks.end(),
                     [](const CheckResult& check) {
                       return check.status == CheckStatus::passed || check.status == CheckStatus::declined;
                     });
}

const CheckResult* VerifyReport::first_unproven() const {
  const CheckResult* first = nullptr;
  for (const CheckResult& check : checks) {
    if (check.status == CheckStatus::passed || check.status == CheckStatus::declined) continue;
    if (check.status != CheckStatus::no_codec) return nullptr;
    if (!first) first = &check;
  }
  return first;
}

const CheckResult* VerifyReport::first_failure() const {
  const auto failed = std::find_if(checks.begin(), checks.end(),
                                   [](const CheckResult& check) { return check.status == CheckStatus::failed; });
  return failed == checks.end() ? nullptr : &*failed;
}

std::vector<BatchRequest> requests_of_lengths(std::span<const std::int64_t> tokens) {
  constexpr std::int64_t chunk_query = 8;
  constexpr std::int64_t draft_query = 3;
  std::vector<BatchRequest> requests;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t length = tokens[i];
    if (length < 1) throw InputError(fmt::format("verify.requests: a sequence has at least 1 token, not {}", length));
    const std::int64_t query = i % 4 == 0   ? std::min(length, chunk_query)
                               : i % 4 == 1 ? 1
                               : i % 4 == 2 ? std::min(length, draft_query)
                                            : std::min(length, 4 * chunk_query);
    requests.push_back({length, query, i % 4 == 1 || i % 4 == 2});
  }
  return requests;
}

std::vector<BatchRequest> default_requests(const CachePlan& plan) {
  const std::int64_t block = attention_block_tokens(plan);
  const std::int64_t window = largest_window(plan);
  const std::int64_t context = 2 * block + block / 3 + 8;
  for (std::int64_t longest :
       {std::max(context, window + block), context, block + block / 2 + 1, block, std::int64_t(1)}) {
    const bool beyond_window = longest > context;
    std::vector<std::int64_t> tokens{longest, beyond_window ? window + 3 : std::min(longest, block + block / 2 + 1),
                                     std::min(longest, block + 3), std::min<std::int64_t>(longest, 17)};
    while (!tokens.empty()) {
      const std::vector<BatchRequest> requests = requests_of_lengths(tokens);
      if (fit(plan, requests)) return requests;
      tokens.pop_back();
    }
  }
  const Demand usable = usable_ids(plan);
  if (!plan.is_uniform())
    throw InputError(fmt::format("verification needs {} for a request of one token, the pools have {}; give more "
                                 "memory",
                                 ids_text(plan, request_demand(plan, 1)), ids_text(plan, usable)));
  throw InputError(fmt::format("verification needs at least {} for a request of one token, the pools "
                               "have {}; give more memory",
                               human_plural(request_demand(plan, 1).total(), "usable block"), usable.total()));
}

VerifyReport verify_plan(const CachePlan& plan, const VerifySpec& spec, const VerifyProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  require_views(plan);
  VerifyReport report;
  report.attention_pack_size = plan.attention_pack_size;
  report.requests = spec.requests.empty() ? default_requests(plan) : spec.requests;
  report.fault = spec.fault;
  BlockAssignment assignment = assign_blocks(plan, report.requests, spec.seed);
  std::vector<BoundView> views = bind_views(plan);
  if (spec.fault) plant_fault(*spec.fault, plan, views, assignment);
  require_budget(plan, spec, assignment);

  const PoolSet pools(plan);
  report.reserved_bytes = pools.reserved_bytes();
  run_checks({plan, views, pools, assignment, report.requests, spec.seed, spec.fault}, spec, progress, report);
  report.resident_bytes = pools.resident_bytes();
  report.peak_process_bytes = peak_process_bytes();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace hybridkv
