#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace hybridkv {

namespace watched_detail {
struct Job;
}

/// What a long answer tells how far it is, from any thread.
class Watch {
 public:
  explicit Watch(std::shared_ptr<watched_detail::Job> job) : job_(std::move(job)) {}
  /// Throws where nobody waits for the answer any more.
  void at(std::string_view what, std::int64_t done, std::int64_t total) const;
  /// The same where there is nothing to tell.
  void look() const;

 private:
  std::shared_ptr<watched_detail::Job> job_;
};

/// Does the work on a thread of its own, without Python's lock, and waits for it. Meanwhile `progress`, unless None,
/// is called with (what, done, total) by the caller's thread, and signals are seen: what they or `progress` raise ends
/// the wait within a moment and is raised here, whether or not the work has noticed by then. Then its result is
/// nobody's, so that work must own all it uses. Throws what the work throws.
void do_watched(const nanobind::object& progress, std::function<void(const Watch&)> work);

/// The same with an answer.
template <class Work>
auto watched(const nanobind::object& progress, Work work) {
  using Made = decltype(work(std::declval<const Watch&>()));
  const auto answer = std::make_shared<std::optional<Made>>();
  do_watched(progress, [answer, work = std::move(work)](const Watch& watch) { answer->emplace(work(watch)); });
  return std::move(**answer);
}

/// Waits for work that nobody waited for: at the end of the program, before what it uses is gone.
void join_abandoned();

}  // namespace hybridkv
