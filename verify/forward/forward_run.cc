#include "verify/forward/forward_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "verify/forward/forward_geometry.h"

namespace hybridkv {

namespace {

/// Requests generate one of so many outputs, so that many requests need few references; what the cache is told stays
/// different for each.
constexpr std::int64_t distinct_outputs = 6;

/// Each content joined with those of so many tokens behind it.
std::vector<std::uint64_t> with_tokens_ahead(std::vector<std::uint64_t> contents, std::int64_t ahead) {
  for (std::size_t i = 0; i < contents.size(); ++i)
    for (std::int64_t next = 1; next <= ahead; ++next) {
      const std::size_t at = i + static_cast<std::size_t>(next);
      contents[i] = mix64(contents[i], at < contents.size() ? contents[at] : 0);
    }
  return contents;
}

}  // namespace

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

void compare_rows(const ForwardSetting& setting, const std::vector<std::uint64_t>& contents, std::int64_t first,
                  std::span<const float> rows, std::int64_t request, ForwardResult& result) {
  const std::int64_t width = setting.network.width;
  const auto reference = setting.references.of(contents);
  result.tokens += static_cast<std::int64_t>(rows.size()) / width;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double wanted = reference->rows[first * width + i];
    double error = std::abs(rows[i] - wanted);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    const bool first_wrong = error > reference->allowed && result.times_allowed() <= 1;
    if (first_wrong && result.status != ForwardStatus::failed) {
      result.status = ForwardStatus::failed;
      result.message = fmt::format("request {}, token {}, channel {}: paged gives {:.6g}, dense {:.6g}", request,
                                   first + static_cast<std::int64_t>(i) / width, i % width, rows[i], wanted);
    }
    result.note_error(error, reference->allowed);
  }
}

void add_work(const ForwardWork& work, ForwardResult& result) {
  result.copies += work.page_copies + work.state_copies;
  if (result.backends.empty())
    for (const BackendWork& of : work.backends) result.backends.push_back({.backend = of.backend});
  for (std::size_t i = 0; i < work.backends.size(); ++i) {
    const BackendWork& of = work.backends[i];
    result.backends[i].add(of);
    if (of.message.empty()) continue;
    // Where two backends differ one of them is wrong, whatever the network made of it.
    result.note_error(of.times_allowed, 1);
    if (result.status == ForwardStatus::failed) continue;
    result.status = ForwardStatus::failed;
    result.message = of.message;
  }
}

void expect_event(bool happened, const std::string& what, ForwardResult& result) {
  if (happened || result.status == ForwardStatus::failed) return;
  result.status = ForwardStatus::failed;
  result.message = "the case shows nothing: " + what;
}

ForwardRun::ForwardRun(const ForwardSetting& setting, const CacheGeometry& geometry, ForwardResult& result,
                       std::int64_t ahead)
    : setting_(setting),
      result_(result),
      engine_(setting.plan, setting.network, setting.views, setting.backends, setting.fault,
              setting.layout_fault),
      scheduler_(geometry, false, [&](const RequestRecord& record) { finish(record); }),
      ahead_(ahead) {}

std::int64_t ForwardRun::submit(const std::vector<ContentRun>& prompt, std::int64_t outputs,
                                const std::vector<ContentRun>& claimed) {
  const auto index = static_cast<std::int64_t>(contents_.size());
  contents_.push_back(with_tokens_ahead(contents_of(prompt, index % distinct_outputs, outputs), ahead_));
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

void ForwardRun::step() {
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
      compare_rows(setting_, contents_[who[i]], chunks[i].computed, rows[i], who[i], result_);
  }
  scheduler_.complete(0);
}

bool ForwardRun::is_running(std::int64_t index) const {
  return std::any_of(scheduler_.running().begin(), scheduler_.running().end(),
                     [&](const auto& request) { return request->record.index == index; });
}

void ForwardRun::count() {
  for (const RequestRecord& record : records_) result_.hit_tokens += record.hit_tokens;
  add_work(engine_.work(), result_);
  result_.planted += engine_.work().planted;
  result_.preemptions = scheduler_.num_preemptions();
  result_.reused_blocks = 0;
  const PageLedger* ledger = scheduler_.cache().ledger();
  if (ledger) result_.reused_blocks = std::max<std::int64_t>(0, ledger->num_given() - (ledger->num_pages() - 1));
  const CacheManager& cache = scheduler_.cache();
  for (std::int64_t arena = 0; arena < cache.geometry().num_arenas(); ++arena)
    result_.reused_blocks +=
        std::max<std::int64_t>(0, cache.pool(arena).stats().allocations - usable_ids(cache.geometry(), arena));
  for (const RequestRecord& record : records_)
    if (record.status != RequestStatus::ok) expect(false, fmt::format("request {} did not fit", record.index));
}

bool ForwardRun::is_past_prompt(std::int64_t index) const {
  for (const auto& request : scheduler_.running())
    if (request->record.index == index) return request->record.generated > 0;
  return scheduler_.num_waiting() == 0;
}

void ForwardRun::follow_junctions(const ActiveRequest& request, RequestBlocks& blocks) {
  const CacheGeometry& geometry = scheduler_.cache().geometry();
  const std::int64_t block = geometry.state_block(), found = request.computed_tokens;
  const bool goes_on = found > 0 && found == request.record.hit_tokens && request.record.generated == 0;
  if (setting_.fault == ForwardFault::foreign_junction && goes_on) {
    const auto entry_of = [&](StateTable& table) {
      return std::find_if(table.live.begin(), table.live.end(),
                          [&](const StateEntry& entry) { return entry.index == ceil_div(found, block) - 1; });
    };
    const BlockId own = entry_of(blocks.states.front())->block;
    const auto is_own = [&](const std::vector<BlockId>& states) { return states.front() == own; };
    const auto other = std::find_if_not(junctions_.begin(), junctions_.end(), is_own);
    if (std::any_of(junctions_.begin(), junctions_.end(), is_own) && other != junctions_.end()) {
      for (std::size_t group = 0; group < blocks.states.size(); ++group)
        entry_of(blocks.states[group])->block = (*other)[group];
      ++result_.planted;
    }
  }
  const std::int64_t end = found + request.scheduled_tokens;
  if (request.branch_tokens == 0 || end != request.branch_tokens / block * block) return;
  std::vector<BlockId>& left = junctions_.emplace_back();
  for (const StateTable& table : blocks.states) left.push_back(table.live.back().block);
}

RequestBlocks ForwardRun::table_of(const ActiveRequest& request) {
  RequestBlocks blocks = request.blocks;
  if (!blocks.states.empty()) follow_junctions(request, blocks);
  if (setting_.layout_fault == Fault::null_block_used && !blocks.attention.empty())
    blocks.attention.front().front() = null_block_id;
  if (setting_.layout_fault == Fault::foreign_large_page && !blocks.attention.empty() && !blocks.states.empty()) {
    // The running state in the large page of the first block of attention.
    const CacheGeometry& geometry = scheduler_.cache().geometry();
    const std::int64_t page = blocks.attention.front().front() /
                              geometry.blocks_per_large_page[static_cast<std::size_t>(geometry.attention_arena(0))];
    blocks.states.front().live.back().block = static_cast<BlockId>(
        page * geometry.blocks_per_large_page[static_cast<std::size_t>(geometry.state_arena(0))]);
  }
  return blocks;
}

std::int64_t ForwardRun::first_token(const ActiveRequest& request) {
  if (setting_.fault != ForwardFault::no_recompute || request.record.preemptions == 0) return request.computed_tokens;
  const std::int64_t end = request.computed_tokens + request.scheduled_tokens;
  const std::int64_t first = std::max(request.computed_tokens, computed_[request.record.index]);
  result_.planted += std::min(first, end) - request.computed_tokens;
  return first;
}

}  // namespace hybridkv
