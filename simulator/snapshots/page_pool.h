#pragma once

#include <cstdint>
#include <vector>

namespace hybridkv {

/// Number of a page of K and V, or of a slot of a state; -1: none.
using SnapshotPage = std::int64_t;
inline constexpr SnapshotPage no_page = -1;
/// Number of a node of the tree; -1: none.
using SnapshotNode = std::int64_t;
inline constexpr SnapshotNode no_node = -1;

/// The pages of one pool: free, held by the request under way, or idle in the tree, in a queue by their age.
///
/// All calls take constant time; memory grows with the pages that were ever in use at once.
class PagePool {
 public:
  explicit PagePool(std::int64_t pages) : free_(pages) {}

  std::int64_t num_free() const { return free_; }
  std::int64_t num_idle() const { return idle_; }
  /// The node in which it lies; none of a page that only the request has.
  SnapshotNode node_of(SnapshotPage page) const { return at(page).node; }
  bool is_held(SnapshotPage page) const { return at(page).held; }
  bool is_idle(SnapshotPage page) const { return at(page).queued; }

  /// A free page, which is held then. Pre: there is one.
  SnapshotPage take();
  /// Frees a page wherever it is.
  void free(SnapshotPage page);
  void set_node(SnapshotPage page, SnapshotNode node) { at(page).node = node; }
  /// Takes an idle page out of the queue, for the request.
  void hold(SnapshotPage page);
  /// Makes a page of the tree the youngest of the queue.
  void release(SnapshotPage page);
  /// The request has a held page no more: it is the youngest of the queue, or free where the tree has it not.
  void let_go(SnapshotPage page) {
    if (at(page).node == no_node) free(page);
    else release(page);
  }
  /// Pages from the old end of the queue, the oldest first. Pre: there are so many.
  std::vector<SnapshotPage> oldest(std::int64_t count) const;

 private:
  struct Page {
    SnapshotNode node = no_node;
    SnapshotPage before = no_page, behind = no_page;  // in the queue
    bool held = false;
    bool queued = false;
  };

  Page& at(SnapshotPage page) { return pages_[static_cast<std::size_t>(page)]; }
  const Page& at(SnapshotPage page) const { return pages_[static_cast<std::size_t>(page)]; }
  void unqueue(SnapshotPage page);

  std::vector<Page> pages_;           // that were ever taken
  std::vector<SnapshotPage> unused_;  // of those, free again
  std::int64_t free_ = 0;
  std::int64_t idle_ = 0;
  SnapshotPage oldest_ = no_page, youngest_ = no_page;
};

}  // namespace hybridkv
