#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace hybridkv {

/// Number of a page of K and V, or of a slot of a state; -1: none. Without a host pool they are those of the device,
/// from 0.
using SnapshotPage = std::int64_t;
inline constexpr SnapshotPage no_page = -1;
/// Number of a node of the tree; -1: none.
using SnapshotNode = std::int64_t;
inline constexpr SnapshotNode no_node = -1;

/// Where the contents of a page lie.
enum class PageLevel { device, host };

/// The pages of one pool, and of the one behind it on the host where there is any: free, held by the request under way,
/// or idle in the tree, in a queue for each level by their age.
///
/// With a host pool a page of the device that is held and not yet locked stays in its queue: it may be moved to the
/// host, but is not dropped. All calls take constant time; memory grows with the pages that were ever in use at once.
class PagePool {
 public:
  explicit PagePool(std::int64_t pages, std::int64_t host_pages = 0)
      : levels_{Level{.free = pages}, Level{.free = host_pages}}, has_host_(host_pages > 0) {}

  bool has_host() const { return has_host_; }
  std::int64_t num_free(PageLevel level = PageLevel::device) const { return of(level).free; }
  /// In the queue.
  std::int64_t num_idle(PageLevel level = PageLevel::device) const { return of(level).idle; }
  PageLevel level_of(SnapshotPage page) const { return at(page).level; }
  /// The node in which it lies; none of a page that only the request has.
  SnapshotNode node_of(SnapshotPage page) const { return at(page).node; }
  bool is_held(SnapshotPage page) const { return at(page).held; }
  /// Does it stay when its node leaves: is it held, or on its way?
  bool is_kept(SnapshotPage page) const { return at(page).held || at(page).on_its_way; }
  bool is_idle(SnapshotPage page) const { return at(page).queued; }

  /// A free page of the device, which is held then. Pre: there is one.
  SnapshotPage take();
  /// Frees a page wherever it is.
  void free(SnapshotPage page);
  void set_node(SnapshotPage page, SnapshotNode node) { at(page).node = node; }
  /// The request has an idle page.
  void hold(SnapshotPage page);
  /// It stays where it is.
  void lock(SnapshotPage page);
  /// Makes a page the youngest of its queue, held or not.
  void queue(SnapshotPage page);
  /// Makes a page of the tree the youngest of its queue, for nobody.
  void release(SnapshotPage page);
  /// The request has a held page no more: it is idle, or free where the tree has it not.
  void let_go(SnapshotPage page);
  /// Takes a page out of its queue, to be moved or dropped.
  void withdraw(SnapshotPage page);
  /// What was withdrawn lies there from now on, youngest of the queue unless it is held. Pre: a page is free there.
  void arrive(SnapshotPage page, PageLevel level);
  /// What was withdrawn is to be dropped with its node.
  void give_up(SnapshotPage page) { at(page).on_its_way = false; }
  /// A locked page comes to the device. Pre: a page is free there.
  void bring_back(SnapshotPage page) { move(page, PageLevel::device); }
  /// Pages from the old end of a queue, the oldest first. Pre: there are so many.
  std::vector<SnapshotPage> oldest(std::int64_t count, PageLevel level = PageLevel::device) const;

 private:
  struct Page {
    SnapshotNode node = no_node;
    SnapshotPage before = no_page, behind = no_page;  // in the queue
    PageLevel level = PageLevel::device;
    bool held = false;
    bool queued = false;
    bool on_its_way = false;
  };
  struct Level {
    std::int64_t free = 0;
    std::int64_t idle = 0;
    SnapshotPage oldest = no_page, youngest = no_page;
  };

  Page& at(SnapshotPage page) { return pages_[static_cast<std::size_t>(page)]; }
  const Page& at(SnapshotPage page) const { return pages_[static_cast<std::size_t>(page)]; }
  Level& of(PageLevel level) { return levels_[static_cast<std::size_t>(level)]; }
  const Level& of(PageLevel level) const { return levels_[static_cast<std::size_t>(level)]; }
  void unqueue(SnapshotPage page);
  void move(SnapshotPage page, PageLevel level);

  std::vector<Page> pages_;           // that were ever taken
  std::vector<SnapshotPage> unused_;  // of those, free again
  std::array<Level, 2> levels_;
  bool has_host_ = false;
};

}  // namespace hybridkv
