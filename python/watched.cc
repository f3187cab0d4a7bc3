#include "python/watched.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// Between two looks at the signals; and how long work may take to notice that it is not wanted any more.
constexpr auto look_every = std::chrono::milliseconds(50);
constexpr auto patience = std::chrono::milliseconds(700);

struct Unwanted {};

std::mutex abandoned_mutex;
std::vector<std::thread> abandoned;

}  // namespace

namespace watched_detail {

struct Job {
  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;
  bool unwanted = false;
  bool moved = false;  // since the last look
  std::string what;
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::exception_ptr failure;
};

}  // namespace watched_detail

using watched_detail::Job;

void Watch::look() const {
  const std::lock_guard lock(job_->mutex);
  if (job_->unwanted) throw Unwanted();
}

void Watch::at(std::string_view what, std::int64_t done, std::int64_t total) const {
  const std::lock_guard lock(job_->mutex);
  if (job_->unwanted) throw Unwanted();
  job_->what = what;
  job_->done = done;
  job_->total = total;
  job_->moved = true;
}

namespace {

void run(const std::shared_ptr<Job>& job, const std::function<void(const Watch&)>& work) {
  std::exception_ptr failure;
  try {
    work(Watch(job));
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(job->mutex);
  job->failure = failure;
  job->finished = true;
  job->changed.notify_all();
}

bool is_finished(Job& job, std::chrono::milliseconds within) {
  std::unique_lock lock(job.mutex);
  return job.changed.wait_for(lock, within, [&] { return job.finished; });
}

/// With Python's lock: what happened since the last look. Throws what it raises.
void look(Job& job, const nb::object& progress) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (progress.is_none()) return;
  std::string what;
  std::int64_t done = 0, total = 0;
  {
    const std::lock_guard lock(job.mutex);
    if (!job.moved) return;
    job.moved = false;
    what = job.what;
    done = job.done;
    total = job.total;
  }
  progress(nb::str(what.c_str(), what.size()), done, total);
}

}  // namespace

void do_watched(const nb::object& progress, std::function<void(const Watch&)> work) {
  const auto job = std::make_shared<Job>();
  std::thread thread([job, work = std::move(work)] { run(job, work); });
  try {
    for (bool finished = false; !finished;) {
      {
        const nb::gil_scoped_release unlocked;
        finished = is_finished(*job, look_every);
      }
      look(*job, progress);
    }
  } catch (...) {
    const nb::gil_scoped_release unlocked;
    {
      const std::lock_guard lock(job->mutex);
      job->unwanted = true;
    }
    if (is_finished(*job, patience)) {
      thread.join();
    } else {
      const std::lock_guard lock(abandoned_mutex);
      abandoned.push_back(std::move(thread));
    }
    throw;
  }
  {
    // A thread that asked Python something gives its state back as it ends, and takes the lock for it.
    const nb::gil_scoped_release unlocked;
    thread.join();
  }
  if (job->failure) std::rethrow_exception(job->failure);
}

void join_abandoned() {
  const nb::gil_scoped_release unlocked;
  const std::lock_guard lock(abandoned_mutex);
  for (std::thread& thread : abandoned) thread.join();
  abandoned.clear();
}

}  // namespace hybridkv
