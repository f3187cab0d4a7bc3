#include "simulator/snapshots/page_pool.h"

#include "base/error.h"

namespace hybridkv {

SnapshotPage PagePool::take() {
  expects(free_ > 0, "a free page");
  --free_;
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
  at(page) = {};
  unused_.push_back(page);
  ++free_;
}

void PagePool::hold(SnapshotPage page) {
  unqueue(page);
  at(page).held = true;
}

void PagePool::release(SnapshotPage page) {
  Page& one = at(page);
  if (one.queued) unqueue(page);
  one.held = false;
  one.queued = true;
  one.before = youngest_;
  one.behind = no_page;
  if (youngest_ == no_page) oldest_ = page;
  else at(youngest_).behind = page;
  youngest_ = page;
  ++idle_;
}

std::vector<SnapshotPage> PagePool::oldest(std::int64_t count) const {
  std::vector<SnapshotPage> pages;
  SnapshotPage page = oldest_;
  for (std::int64_t i = 0; i < count; ++i, page = at(page).behind) pages.push_back(page);
  return pages;
}

void PagePool::unqueue(SnapshotPage page) {
  Page& one = at(page);
  if (one.before == no_page) oldest_ = one.behind;
  else at(one.before).behind = one.behind;
  if (one.behind == no_page) youngest_ = one.before;
  else at(one.behind).before = one.before;
  one.before = one.behind = no_page;
  one.queued = false;
  --idle_;
}

}  // namespace hybridkv
