#include "simulator/snapshots/page_pool.h"

#include "base/error.h"

namespace hybridkv {

SnapshotPage PagePool::take() {
  expects(num_free() > 0, "a free page");
  --of(PageLevel::device).free;
  SnapshotPage page = std::ssize(pages_);
  if (unused_.empty()) {
    pages_.emplace_back();
  } else {
    page = unused_.back();
    unused_.pop_back();
  }
  at(page) = {.held = true};
  return page;
}

void PagePool::free(SnapshotPage page) {
  if (at(page).queued) unqueue(page);
  ++of(at(page).level).free;
  at(page) = {};
  unused_.push_back(page);
}

void PagePool::hold(SnapshotPage page) {
  at(page).held = true;
  if (!has_host_ || at(page).level == PageLevel::host) lock(page);
}

void PagePool::lock(SnapshotPage page) {
  if (at(page).queued) unqueue(page);
  at(page).held = true;
}

void PagePool::queue(SnapshotPage page) {
  Page& one = at(page);
  if (one.queued) unqueue(page);
  Level& level = of(one.level);
  one.queued = true;
  one.before = level.youngest;
  one.behind = no_page;
  if (level.youngest == no_page) level.oldest = page;
  else at(level.youngest).behind = page;
  level.youngest = page;
  ++level.idle;
}

void PagePool::release(SnapshotPage page) {
  at(page).held = false;
  queue(page);
}

void PagePool::let_go(SnapshotPage page) {
  if (at(page).node == no_node) free(page);
  else if (at(page).queued) at(page).held = false;
  else release(page);
}

void PagePool::withdraw(SnapshotPage page) {
  unqueue(page);
  at(page).on_its_way = true;
}

void PagePool::arrive(SnapshotPage page, PageLevel level) {
  at(page).on_its_way = false;
  move(page, level);
  if (!at(page).held) queue(page);
}

void PagePool::move(SnapshotPage page, PageLevel level) {
  if (at(page).level == level) return;
  expects(num_free(level) > 0, "a free page to move to");
  ++of(at(page).level).free;
  --of(level).free;
  at(page).level = level;
}

std::vector<SnapshotPage> PagePool::oldest(std::int64_t count, PageLevel level) const {
  std::vector<SnapshotPage> pages;
  SnapshotPage page = of(level).oldest;
  for (std::int64_t i = 0; i < count; ++i, page = at(page).behind) pages.push_back(page);
  return pages;
}

void PagePool::unqueue(SnapshotPage page) {
  Page& one = at(page);
  Level& level = of(one.level);
  if (one.before == no_page) level.oldest = one.behind;
  else at(one.before).behind = one.behind;
  if (one.behind == no_page) level.youngest = one.before;
  else at(one.behind).before = one.before;
  one.before = one.behind = no_page;
  one.queued = false;
  --level.idle;
}

}  // namespace hybridkv
