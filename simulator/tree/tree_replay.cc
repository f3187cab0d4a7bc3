#include "simulator/tree/tree_replay.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

const TreeRecord& TreeReplay::run(const TraceRequest& request, std::span<const TokenRun> content) {
  const Counted before = counted();
  start(request_, request, content);
  if (!admit(request_, 0)) {
    request_.record.status = RequestStatus::refused;
  } else if (!prefill() || !decode()) {
    request_.record.status = RequestStatus::stalled;
  } else {
    finish(request_);
  }
  release(request_);
  book(request_.record, before);
  close(request_.record);
  return request_.record;
}

bool TreeReplay::prefill() {
  TreeRequest* const batch[] = {&request_};
  while (request_.prefilling()) {
    const std::int64_t start = request_.computed_tokens;
    // Hits and budgets are whole pages, so the engine's rounding of the first chunk changes nothing.
    request_.chunk_end = start + std::min(request_.prompt_tokens - start, settings().chunk_tokens);
    if (!take_states(batch) || !take_pages(batch)) return false;
    compute_chunk(request_, start);
    const bool is_last = !request_.prefilling();
    if (!(is_last && request_.output_tokens == 1) && !keep_chunk(request_, is_last)) return false;
  }
  return true;
}

bool TreeReplay::decode() {
  const std::int64_t end = request_.last_computed();
  while (request_.computed_tokens < end) {
    const std::int64_t start = request_.computed_tokens;
    if (!decode_to(std::min(start + decode_grid() - start % decode_grid(), end))) return false;
    compute_decode(request_, start);
  }
  request_.record.generated = settings().decodes ? request_.output_tokens : 0;
  return true;
}

bool TreeReplay::decode_to(std::int64_t tokens) {
  const TokenPool& pool = tree_.token_pool();
  const std::int64_t page = settings().page;
  while (request_.computed_tokens < tokens) {
    // Every step asks for a page, whether or not it begins one.
    if (pool.free_pages() == 0) tree_.evict_tokens(page);
    const std::int64_t in_page = round_up(request_.computed_tokens, page) - request_.computed_tokens;
    if (in_page > 0) {
      request_.computed_tokens = std::min(tokens, request_.computed_tokens + in_page);
      continue;
    }
    if (pool.free_pages() == 0) return false;
    const std::int64_t wanted = page > 1 ? 1 : std::min(pool.free_pages(), tokens - request_.computed_tokens);
    take_decode_pages(request_, wanted, wanted);
  }
  return true;
}

}  // namespace hybridkv
