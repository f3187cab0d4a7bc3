#include "audit/computed_steps.h"

#include <fmt/format.h>

#include "audit/owned_rows.h"
#include "audit/owned_states.h"
#include "base/error.h"

namespace hybridkv {

namespace {

/// Calls visit(group, is_state) for every group.
template <class Visit>
void for_groups(const OwnedCache& cache, Visit&& visit) {
  for (std::int64_t group = 0; group < std::ssize(cache.recording.groups); ++group)
    visit(group, cache.group(group).is_state());
}

/// Of the last run so many drafts count.
void settle(OwnedCache& cache, OwningRequest& request, std::int64_t accepted) {
  if (request.last.drafts == 0) return;
  const std::int64_t end = request.last.start + request.last.tokens - request.last.drafts + accepted;
  if (accepted < request.last.drafts)
    for_groups(cache, [&](std::int64_t group, bool is_state) {
      if (is_state)
        reject_states(cache, request, group, end);
      else
        reject_rows(cache, request, group, end);
    });
  request.computed = end;
  request.last.drafts = 0;
}

// Beyond these a run is damaged; states of every boundary in it are counted one by one.
constexpr std::int64_t latest_start = std::int64_t{1} << 50;
constexpr std::int64_t most_run_tokens = std::int64_t{1} << 26;
constexpr std::int64_t most_drafts = 4096;

void validate_run(const RecordedRun& run) {
  if (run.start > latest_start || run.tokens > most_run_tokens || run.drafts > most_drafts)
    throw InputError(fmt::format("a run of request {} starts at {} and has {} tokens, {} of them drafts: no engine "
                                 "computes so many", run.request, run.start, run.tokens, run.drafts));
  if (run.start < 0 || run.tokens < 1 || run.drafts < 0 || run.drafts >= run.tokens || run.exported < 0)
    throw InputError(fmt::format("a run of request {} starts at {} and has {} tokens, {} of them drafts; it has one "
                                 "token at least that is no draft", run.request, run.start, run.tokens, run.drafts));
}

}  // namespace

void apply(OwnedCache& cache, const StepEvent& event) {
  cache.step = event.step;
  ++cache.counts.steps;
}

void apply(OwnedCache& cache, const ComputeEvent& event) {
  for (const RecordedRun& run : event.runs) {
    validate_run(run);
    settle(cache, cache.request(run.request), 0);
  }
  std::vector<RecordedStateUse> uses;
  for (const RecordedRun& run : event.runs)
    for_groups(cache, [&](std::int64_t group, bool is_state) {
      if (!is_state) return;
      OwningRequest& request = cache.request(run.request);
      uses.push_back(states_of(cache, request, group, run));
      read_state(cache, request, uses.back(), run);
    });
  for (const RecordedRun& run : event.runs)
    for_groups(cache, [&](std::int64_t group, bool is_state) {
      if (!is_state) write_rows(cache, cache.request(run.request), group, run);
    });
  for (const RecordedRun& run : event.runs)
    for_groups(cache, [&](std::int64_t group, bool is_state) {
      if (!is_state) read_rows(cache, cache.request(run.request), group, run);
    });
  auto use = uses.begin();
  for (const RecordedRun& run : event.runs) {
    OwningRequest& request = cache.request(run.request);
    for_groups(cache, [&](std::int64_t, bool is_state) {
      if (is_state) write_states(cache, request, *use++, run);
    });
    request.doubtful.clear();
    request.replaced.clear();
    request.has_run = true;
    request.last = run;
    request.computed = run.start + run.tokens - run.drafts;
    ++cache.counts.runs;
  }
}

void apply(OwnedCache& cache, const AcceptEvent& event) {
  OwningRequest& request = cache.request(event.request);
  if (event.drafts < 0 || event.drafts > request.last.drafts)
    throw InputError(fmt::format("{} drafts of request {} were accepted, but its last run had {}", event.drafts,
                                 event.request, request.last.drafts));
  settle(cache, request, event.drafts);
}

void apply(OwnedCache& cache, const KeysEvent& event) {
  OwningRequest& request = cache.request(event.request);
  for (const std::uint64_t key : event.keys) {
    request.keys.push_back(key);
    const std::int64_t units = std::ssize(request.keys);
    for_groups(cache, [&](std::int64_t group, bool is_state) {
      if (is_state)
        name_states(cache, request, group, units * cache.unit());
      else
        name_rows(cache, request, group, units - 1);
    });
  }
}

}  // namespace hybridkv
