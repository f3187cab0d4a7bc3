#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/schedule/scheduler.h"
#include "verify/forward/forward_case.h"
#include "verify/forward/forward_engine.h"

namespace hybridkv {

/// `tokens` tokens of one content.
struct ContentRun {
  std::uint64_t content;
  std::int64_t tokens;
};

/// Contents by position of request `index`: its prompt, then outputs of its own.
std::vector<std::uint64_t> contents_of(std::span<const ContentRun> prompt, std::int64_t index, std::int64_t outputs);

/// The prompt as the prefix cache is told it.
std::vector<TokenRun> runs_of(std::span<const ContentRun> prompt);

/// Compares rows (token, width) of a sequence, from token `first` on, with those of the dense network; enters the
/// tokens, the largest error as a multiple of what is allowed and the first that is too large.
void compare_rows(const ForwardSetting& setting, const std::vector<std::uint64_t>& contents, std::int64_t first,
                  std::span<const float> rows, std::int64_t request, ForwardResult& result);

/// Adds copies and backends of an engine to what its case shows; backends that differ are a failure.
void add_work(const ForwardWork& work, ForwardResult& result);

/// What must have taken place for a case to show anything; without it the case has failed, whatever its outputs.
void expect_event(bool happened, const std::string& what, ForwardResult& result);

/// An engine with its scheduler: requests go in, every token's output is compared.
class ForwardRun {
 public:
  /// `ahead`: the network computes a token from so many behind it too, as a drafter does.
  ForwardRun(const ForwardSetting& setting, const CacheGeometry& geometry, ForwardResult& result,
             std::int64_t ahead = 0);

  /// `claimed`: the prompt that the prefix cache is told; differs from the real one in a planted fault only.
  /// Returns the request's index.
  std::int64_t submit(const std::vector<ContentRun>& prompt, std::int64_t outputs,
                      const std::vector<ContentRun>& claimed);
  std::int64_t submit(const std::vector<ContentRun>& prompt, std::int64_t outputs) {
    return submit(prompt, outputs, prompt);
  }

  void step();
  void run_all() {
    while (scheduler_.num_in_flight() > 0) step();
  }
  /// Until the request has computed its prompt.
  void run_prompt(std::int64_t index) {
    while (!is_past_prompt(index)) step();
  }

  bool is_running(std::int64_t index) const;
  const RequestRecord& record(std::int64_t index) const { return records_[index]; }
  const Scheduler& scheduler() const { return scheduler_; }
  const ForwardEngine& engine() const { return engine_; }

  /// Adds up what the engine did.
  void count();
  void expect(bool happened, const std::string& what) { expect_event(happened, what, result_); }

 private:
  void finish(const RequestRecord& record) { records_[record.index] = record; }
  bool is_past_prompt(std::int64_t index) const;
  RequestBlocks table_of(const ActiveRequest& request);
  /// Notes the states of requests whose chunk ends at their junction; with the fault planted puts those of another in
  /// place of what a request found there.
  void follow_junctions(const ActiveRequest& request, RequestBlocks& blocks);
  /// The first token to compute; with the fault planted, behind all that the request had computed before it lost its
  /// blocks.
  std::int64_t first_token(const ActiveRequest& request);

  const ForwardSetting& setting_;
  ForwardResult& result_;
  ForwardEngine engine_;
  Scheduler scheduler_;
  std::vector<std::vector<std::uint64_t>> contents_;  // by request
  std::vector<RequestRecord> records_;                // by request
  std::vector<std::int64_t> computed_;                // by request, tokens whose output was compared at least once
  std::int64_t ahead_ = 0;
  std::vector<std::vector<BlockId>> junctions_;       // by state group, of every request that left a state at one
};

}  // namespace hybridkv
