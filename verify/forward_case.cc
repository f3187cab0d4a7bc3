#include "verify/forward_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/prefill_chunk.h"
#include "simulator/scheduler.h"
#include "verify/forward_dense.h"
#include "verify/forward_engine.h"

namespace hybridkv {

namespace {

constexpr std::array cases{ForwardCase::shared_prefix, ForwardCase::resume,     ForwardCase::branch,
                           ForwardCase::copy_on_write, ForwardCase::preemption, ForwardCase::drafts,
                           ForwardCase::fresh_blocks,  ForwardCase::recycling};
constexpr std::array<std::string_view, cases.size()> case_names{"shared-prefix", "resume",       "branch",
                                                                "copy-on-write", "preemption",   "drafts",
                                                                "fresh-blocks",  "recycling"};

/// `tokens` tokens of one content.
struct ContentRun {
  std::uint64_t content;
  std::int64_t tokens;
};

std::int64_t attention_groups(const CachePlan& plan) {
  return std::count_if(plan.groups.begin(), plan.groups.end(),
                       [&](const GroupPlan& group) { return !plan.specs[group.spec].state; });
}

/// The block of attention, or in a model without any that of its states.
std::int64_t block_tokens(const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention && !spec.draft) return spec.block_size_tokens;
  return plan.specs.front().block_size_tokens;
}

/// Groups with a window keep all their blocks here: the mask is the computation's business.
CacheGeometry geometry_for(const CachePlan& plan) {
  CacheGeometry geometry;
  geometry.block_size_tokens = block_tokens(plan);
  geometry.num_blocks = plan.num_blocks;
  geometry.attention_groups = attention_groups(plan);
  geometry.state_groups = static_cast<std::int64_t>(plan.groups.size()) - geometry.attention_groups;
  geometry.mode = plan.cache_mode;
  geometry.speculative_tokens = plan.speculative_tokens;
  // No multiple of the block, so that chunks end inside blocks where the mode lets them.
  geometry.max_num_batched_tokens = geometry.block_size_tokens + geometry.block_size_tokens / 2 + 1;
  return geometry;
}

/// Block ids of one request of so many tokens, whatever mode.
std::int64_t ids_of(const CacheGeometry& geometry, std::int64_t tokens) {
  const std::int64_t blocks = ceil_div(tokens, geometry.block_size_tokens);
  return geometry.attention_groups * blocks + geometry.state_groups * (blocks + 2 + geometry.speculative_tokens);
}

std::vector<std::uint64_t> contents_of(std::span<const ContentRun> prompt, std::int64_t index, std::int64_t outputs) {
  std::vector<std::uint64_t> contents;
  for (const ContentRun& run : prompt) contents.insert(contents.end(), run.tokens, run.content);
  contents.insert(contents.end(), outputs, ~static_cast<std::uint64_t>(index));
  return contents;
}

std::vector<TokenRun> runs_of(std::span<const ContentRun> prompt) {
  std::vector<TokenRun> runs;
  std::uint64_t chain = empty_chain;
  std::int64_t end = 0;
  for (const ContentRun& run : prompt) {
    chain = extend_chain(chain, run.content, end);
    end += run.tokens;
    runs.push_back({end, chain});
  }
  return runs;
}

/// Compares rows with those of the dense network.
void compare(const ForwardSetting& setting, const std::vector<std::uint64_t>& contents, std::int64_t first,
             std::span<const float> rows, std::int64_t request, ForwardResult& result) {
  const std::int64_t width = setting.network.width;
  const auto dense = setting.dense.of(contents);
  result.tokens += static_cast<std::int64_t>(rows.size()) / width;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double wanted = (*dense)[first * width + i];
    const double error = std::abs(rows[i] - wanted);
    // NaN compares false with everything, so it must not hide behind `error > tolerance`.
    if (error <= result.tolerance) {
      result.max_error = std::max(result.max_error, error);
      continue;
    }
    if (result.status == ForwardStatus::failed) return;
    result.status = ForwardStatus::failed;
    result.max_error = error;
    result.message = fmt::format("request {}, token {}, channel {}: paged gives {:.6g}, dense {:.6g}", request,
                                 first + static_cast<std::int64_t>(i) / width, i % width, rows[i], wanted);
    return;
  }
}

/// An engine with its scheduler: requests go in, every token's output is compared.
class ForwardRun {
 public:
  ForwardRun(const ForwardSetting& setting, const CacheGeometry& geometry, ForwardResult& result)
      : setting_(setting),
        result_(result),
        engine_(setting.plan, setting.network, setting.views, setting.fault, setting.layout_fault),
        scheduler_(geometry, false, [&](const RequestRecord& record) { finish(record); }) {}

  /// `claimed`: the prompt that the prefix cache is told; differs from the real one in a planted fault only.
  std::int64_t submit(const std::vector<ContentRun>& prompt, std::int64_t outputs,
                      const std::vector<ContentRun>& claimed) {
    const auto index = static_cast<std::int64_t>(contents_.size());
    contents_.push_back(contents_of(prompt, index, outputs));
    TraceRequest request;
    request.index = index;
    request.input_length = static_cast<std::int64_t>(contents_.back().size()) - outputs;
    request.output_length = outputs;
    scheduler_.submit(request, runs_of(claimed));
    records_.emplace_back();
    computed_.push_back(0);
    ++result_.requests;
    return index;
  }
  std::int64_t submit(const std::vector<ContentRun>& prompt, std::int64_t outputs) {
    return submit(prompt, outputs, prompt);
  }

  void step() {
    scheduler_.schedule(0);
    engine_.copy_pages(scheduler_.cache().copies());
    std::vector<ForwardChunk> chunks;
    std::vector<RequestBlocks> tables;
    std::vector<std::int64_t> who;
    tables.reserve(scheduler_.running().size());
    for (const auto& request : scheduler_.running()) {
      if (request->scheduled_tokens == 0) continue;
      const std::int64_t index = request->record.index;
      const std::int64_t end = request->computed_tokens + request->scheduled_tokens;
      const std::int64_t first = first_token(*request);
      if (first >= end) continue;
      tables.push_back(table_of(*request));
      chunks.push_back({.contents = &contents_[index], .blocks = &tables.back(), .computed = first, .end = end,
                        .is_decode = !request->prefilling()});
      who.push_back(index);
      computed_[index] = std::max(computed_[index], end);
    }
    if (!chunks.empty()) {
      const std::vector<std::vector<float>> rows = engine_.run(chunks);
      for (std::size_t i = 0; i < chunks.size(); ++i)
        compare(setting_, contents_[who[i]], chunks[i].computed, rows[i], who[i], result_);
    }
    scheduler_.complete(0);
  }

  void run_all() {
    while (scheduler_.num_in_flight() > 0) step();
  }
  /// Until the request has computed its prompt.
  void run_prompt(std::int64_t index) {
    while (!is_past_prompt(index)) step();
  }

  bool is_running(std::int64_t index) const {
    return std::any_of(scheduler_.running().begin(), scheduler_.running().end(),
                       [&](const auto& request) { return request->record.index == index; });
  }
  const RequestRecord& record(std::int64_t index) const { return records_[index]; }
  const Scheduler& scheduler() const { return scheduler_; }
  const ForwardEngine& engine() const { return engine_; }

  /// Adds up what the engine did.
  void count() {
    for (const RequestRecord& record : records_) result_.hit_tokens += record.hit_tokens;
    result_.copies = engine_.work().page_copies + engine_.work().state_copies;
    result_.preemptions = scheduler_.num_preemptions();
    const BlockPool& pool = scheduler_.cache().pool();
    result_.reused_blocks = std::max<std::int64_t>(0, pool.stats().allocations - (pool.num_blocks() - 1));
    for (const RequestRecord& record : records_)
      if (record.status != RequestStatus::ok) expect(false, fmt::format("request {} did not fit", record.index));
  }
  /// What must have taken place for the case to show anything.
  void expect(bool happened, const std::string& what) {
    if (happened || result_.status == ForwardStatus::failed) return;
    result_.status = ForwardStatus::failed;
    result_.message = "the case shows nothing: " + what;
  }

 private:
  void finish(const RequestRecord& record) { records_[record.index] = record; }

  bool is_past_prompt(std::int64_t index) const {
    for (const auto& request : scheduler_.running())
      if (request->record.index == index) return request->record.generated > 0;
    return scheduler_.num_waiting() == 0;
  }

  RequestBlocks table_of(const ActiveRequest& request) const {
    RequestBlocks blocks = request.blocks;
    if (setting_.layout_fault == Fault::null_block_used && !blocks.attention.empty())
      blocks.attention.front().front() = null_block_id;
    return blocks;
  }

  /// The first token to compute; with the fault planted, behind all that the request had computed before it lost its
  /// blocks.
  std::int64_t first_token(const ActiveRequest& request) const {
    if (setting_.fault != ForwardFault::no_recompute || request.record.preemptions == 0) return request.computed_tokens;
    return std::max(request.computed_tokens, computed_[request.record.index]);
  }

  const ForwardSetting& setting_;
  ForwardResult& result_;
  ForwardEngine engine_;
  Scheduler scheduler_;
  std::vector<std::vector<std::uint64_t>> contents_;  // by request
  std::vector<RequestRecord> records_;                // by request
  std::vector<std::int64_t> computed_;                // by request, tokens whose output was compared at least once
};

void run_shared_prefix(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  ForwardRun run(setting, geometry_for(setting.plan), result);
  const std::int64_t first = run.submit({{1, 2 * block + 5}}, 6);
  run.run_prompt(first);
  run.expect(run.is_running(first), "the first request has ended before the second began");
  const std::vector<ContentRun> prompt{{1, 2 * block}, {2, 9}};
  const bool wrong = setting.fault == ForwardFault::wrong_prefix;
  const std::int64_t second = run.submit(wrong ? std::vector<ContentRun>{{3, 2 * block}, {2, 9}} : prompt, 3, prompt);
  run.run_all();
  run.count();
  run.expect(run.record(second).hit_tokens == 2 * block, "the second request found no shared prefix");
}

void run_resume(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  ForwardRun run(setting, geometry_for(setting.plan), result);
  run.submit({{1, 2 * block + 5}}, 3);
  run.run_all();
  run.expect(run.scheduler().cache().pool().num_held() == 0, "the first request still holds blocks");
  const std::int64_t second = run.submit({{1, 2 * block}, {2, 9}}, 3);
  run.run_all();
  run.count();
  run.expect(run.record(second).hit_tokens == 2 * block, "the second request found no checkpoint");
}

void run_branch(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  CacheGeometry geometry = geometry_for(setting.plan);
  geometry.max_num_batched_tokens = 4 * block;  // the first prompt in one chunk: it leaves no checkpoint but its last
  ForwardRun run(setting, geometry, result);
  run.submit({{1, 3 * block + 3}}, 1);
  run.run_all();
  const std::int64_t second = run.submit({{1, block + block / 2}, {3, block + 5}}, 1);
  run.run_all();
  const std::int64_t third = run.submit({{1, block + block / 2}, {4, 9}}, 2);
  run.run_all();
  run.count();
  const bool makes_branch = setting.plan.cache_mode == CacheMode::align && geometry.state_groups > 0;
  run.expect(run.record(second).hit_tokens == (makes_branch ? 0 : block), "the second request hit something else");
  run.expect(run.record(third).hit_tokens == block, "the branch point was not found");
}

void run_copy_on_write(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  CacheGeometry geometry = geometry_for(setting.plan);
  geometry.match_unit_tokens = block / 2;
  ForwardRun run(setting, geometry, result);
  const std::int64_t shared = block + block / 2;
  run.submit({{1, shared + 3}}, 2);
  run.run_all();
  const std::int64_t second = run.submit({{1, shared}, {5, block}}, 3);
  run.run_all();
  run.count();
  run.expect(run.record(second).hit_tokens == shared, "the second request found no partial block");
  run.expect(run.engine().work().page_copies > 0, "no block was copied");
}

void run_preemption(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  CacheGeometry geometry = geometry_for(setting.plan);
  // Two requests below two blocks fit with one state each, and one of them can go on to its third block.
  const std::int64_t growth =
      geometry.attention_groups + (setting.plan.cache_mode == CacheMode::none ? 0 : geometry.state_groups);
  geometry.num_blocks = 1 + 2 * (2 * geometry.attention_groups + geometry.state_groups) + growth;
  ForwardRun run(setting, geometry, result);
  run.submit({{1, 2 * block - 4}}, 10);
  run.submit({{2, 2 * block - 4}}, 10);
  run.run_all();
  run.count();
  run.expect(run.scheduler().num_preemptions() > 0, "no request was preempted");
}

void run_fresh_blocks(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  CacheGeometry geometry = geometry_for(setting.plan);
  geometry.num_blocks = 1 + ids_of(geometry, block + 9);
  ForwardRun run(setting, geometry, result);
  run.submit({{1, block + 7}}, 2);
  run.run_all();
  const std::int64_t before = run.engine().work().zeroed_dirty_states;
  run.submit({{2, block + 7}}, 2);
  run.run_all();
  run.count();
  run.expect(run.engine().work().zeroed_dirty_states > before, "no fresh state block held other bytes");
}

void run_recycling(const ForwardSetting& setting, ForwardResult& result) {
  const std::int64_t block = block_tokens(setting.plan);
  CacheGeometry geometry = geometry_for(setting.plan);
  geometry.num_blocks = 1 + ids_of(geometry, block + 5) + geometry.attention_groups;
  ForwardRun run(setting, geometry, result);
  constexpr std::int64_t rounds = 4;
  for (std::uint64_t i = 0; i < 24; ++i) {
    run.submit({{1 + i % 3, block + 3}}, 2);
    run.run_all();
    if (run.scheduler().cache().pool().stats().allocations >= rounds * (geometry.num_blocks - 1)) break;
  }
  run.count();
  run.expect(result.reused_blocks >= (rounds - 1) * (geometry.num_blocks - 1), "blocks were hardly used again");
}

/// One request that decodes with drafts; the manager hands out the blocks of 1 + s tokens a step.
void run_drafts(const ForwardSetting& setting, ForwardResult& result) {
  const CacheGeometry geometry = geometry_for(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  const std::int64_t drafts = setting.plan.speculative_tokens;
  const std::vector<ContentRun> prompt{{1, 2 * block - 7}};
  const std::int64_t length = 2 * block - 7;
  CacheManager cache(geometry);
  ForwardEngine engine(setting.plan, setting.network, setting.views, setting.fault, setting.layout_fault);
  RequestBlocks blocks = cache.make_request();
  std::vector<PrefixKey> keys;
  prefix_keys(runs_of(prompt), geometry.match_unit(), keys);
  const CachedPrompt cached{keys, length};
  const std::vector<std::uint64_t> contents = contents_of(prompt, 0, 24);
  const auto run = [&](const std::vector<std::uint64_t>& tokens, std::int64_t from, std::int64_t to,
                       std::int64_t accepted, bool holds_drafts) {
    engine.copy_pages(cache.copies());
    const ForwardChunk chunk{.contents = &tokens, .blocks = &blocks, .computed = from, .end = to,
                             .is_decode = holds_drafts, .holds_drafts = holds_drafts, .accepted_tokens = accepted};
    std::vector<float> rows = std::move(engine.run(std::span(&chunk, 1)).front());
    cache.end_step();
    return rows;
  };

  const PrefixHit hit = cache.look_up(blocks, cached);
  std::int64_t done = 0;
  while (done < length) {
    cache.begin_step();
    const std::int64_t tokens =
        next_prefill_chunk(geometry, {done, length, 0}, geometry.max_num_batched_tokens);
    expects(done == 0 ? cache.admit(blocks, cached, hit, tokens, 0) : cache.advance(blocks, cached, done, tokens, 0),
            "the pool has room for one request");
    compare(setting, contents, done, run(contents, done, done + tokens, 1, false), 0, result);
    done += tokens;
  }
  constexpr std::array<std::int64_t, 8> kept_of_step{2, 1, 4, 1, 3, 2, 1, 4};
  std::int64_t accepted = 1;
  for (const std::int64_t wanted : kept_of_step) {
    const std::int64_t kept = std::min(wanted, 1 + drafts);
    cache.begin_step();
    const std::vector<std::vector<BlockId>> before = draft_blocks(blocks);
    expects(cache.advance(blocks, cached, done, 1 + drafts, 0), "the pool has room for one request");
    const std::vector<std::vector<BlockId>> after = draft_blocks(blocks);
    if (!before.empty() && before.front().front() != after.front().front()) {
      engine.move_accepted(before, after, accepted);
      accepted = 1;
    }
    std::vector<std::uint64_t> guess(contents.begin(), contents.begin() + done + kept);
    guess.resize(done + 1 + drafts, 77);  // rejected: not what the sequence goes on with
    const std::vector<float> rows = run(guess, done, done + 1 + drafts, accepted, true);
    compare(setting, contents, done, std::span(rows).first(kept * setting.network.width), 0, result);
    result.rejected += 1 + drafts - kept;
    done += kept;
    accepted = setting.fault == ForwardFault::wrong_accepted ? std::min(kept + 1, 1 + drafts) : kept;
  }
  result.requests = 1;
  result.copies = engine.work().page_copies + engine.work().state_copies;
  if (result.rejected == 0 && result.status == ForwardStatus::passed) {
    result.status = ForwardStatus::failed;
    result.message = "the case shows nothing: no draft token was rejected";
  }
}

bool needs_prefix_cache(ForwardCase forward_case) {
  return forward_case == ForwardCase::shared_prefix || forward_case == ForwardCase::resume ||
         forward_case == ForwardCase::branch || forward_case == ForwardCase::copy_on_write;
}

/// Why the case has nothing to show under this plan; empty where it has.
std::string reason_not_to_run(ForwardCase forward_case, const CacheGeometry& geometry) {
  if (needs_prefix_cache(forward_case) && !geometry.caches_prefixes())
    return "mode none keeps no state behind a prefix, so none is found again";
  if (forward_case == ForwardCase::fresh_blocks && geometry.state_groups == 0) return "the model keeps no state";
  if (geometry.attention_groups == 0 && forward_case == ForwardCase::preemption)
    return "without attention a request never needs more blocks";
  return "";
}

}  // namespace

std::span<const ForwardCase> all_forward_cases() { return cases; }

std::string_view to_string(ForwardCase forward_case) { return case_names[static_cast<std::size_t>(forward_case)]; }

std::shared_ptr<const std::vector<double>> DenseResults::of(const std::vector<std::uint64_t>& contents) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = results_.find(contents); found != results_.end()) return found->second;
  }
  auto result = std::make_shared<const std::vector<double>>(dense_forward(network_, contents));
  const std::lock_guard lock(mutex_);
  return results_.emplace(contents, std::move(result)).first->second;
}

std::int64_t forward_pool_blocks(const CachePlan& plan) {
  const CacheGeometry geometry = geometry_for(plan);
  return 1 + 3 * ids_of(geometry, 4 * geometry.block_size_tokens);
}

double forward_tolerance(const CachePlan& plan) {
  double tolerance = 1e-5 + 1.3e-6;
  const auto widen = [&](DType dtype) {
    if (dtype == DType::fp16) tolerance = std::max(tolerance, 1e-3 + 1e-3);
    if (dtype == DType::bf16) tolerance = std::max(tolerance, 1e-3 + 1.6e-2);
    if (dtype == DType::fp8_e4m3 || dtype == DType::fp8_e5m2) tolerance = std::max(tolerance, 1e-1 + 1e-1);
  };
  for (const SpecPlan& spec : plan.specs) {
    if (spec.attention) widen(spec.attention->dtype);
    if (spec.state)
      for (const StateTensor& tensor : spec.state->tensors) widen(tensor.dtype);
  }
  return tolerance;
}

ForwardResult run_forward_case(ForwardCase forward_case, const ForwardSetting& setting) {
  ForwardResult result{.forward_case = forward_case, .mode = setting.plan.cache_mode,
                       .tolerance = forward_tolerance(setting.plan)};
  result.message = reason_not_to_run(forward_case, geometry_for(setting.plan));
  if (!result.message.empty()) {
    result.status = ForwardStatus::does_not_apply;
    return result;
  }
  switch (forward_case) {
    case ForwardCase::shared_prefix: run_shared_prefix(setting, result); break;
    case ForwardCase::resume: run_resume(setting, result); break;
    case ForwardCase::branch: run_branch(setting, result); break;
    case ForwardCase::copy_on_write: run_copy_on_write(setting, result); break;
    case ForwardCase::preemption: run_preemption(setting, result); break;
    case ForwardCase::drafts: run_drafts(setting, result); break;
    case ForwardCase::fresh_blocks: run_fresh_blocks(setting, result); break;
    case ForwardCase::recycling: run_recycling(setting, result); break;
  }
  return result;
}

}  // namespace hybridkv
