#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "clock/drafts.h"
#include "clock/step_batch.h"

namespace hybridkv {

/// How an engine puts steps together. Numbers are of one rank where requests are shared out to several.
struct LoopRules {
  std::int64_t budget = 8192;       ///< tokens of a step; of prompts alone where they do not run beside others
  bool prompts_alone = false;       ///< while prompts wait, steps have nothing else
  bool whole_prompts = false;       ///< a prompt is cut only where it alone is more than the budget
  std::int64_t wait_steps = 0;      ///< prompts wait so long for company, while sequences generate; 0: they do not
  double wait_share = 0;            ///< of the budget, that prompts and sequences have to fill to end that wait
  std::int64_t poll_steps = 1;      ///< arrivals are seen after so many steps without prompts
  std::int64_t most_running = 256;  ///< sequences
  double cache_tokens = 0;          ///< that all running ones may have; 0: no limit
  double request_tokens = 0;        ///< of them, what each has besides its own: the room of its states
  bool reserves_outputs = false;    ///< nobody is admitted who might not fit at its end; else the last one gives way
  Drafts drafts;                    ///< verified in every step of a sequence that generates
  std::int64_t ranks = 1;           ///< that have requests of their own: attention data parallel
  bool loads_by_layer = false;      ///< loads of what was found go on beside the step that reads it, else before it
  std::int64_t balance_steps = 0;   ///< prompts wait until every rank has one, but no more than so many steps; 0: not
  bool operator==(const LoopRules&) const = default;
};

/// A request as far as its time goes.
struct LoopRequest {
  std::int64_t index = 0;
  std::int64_t prompt = 0;     ///< tokens, >= 1
  std::int64_t found = 0;      ///< of them, that a cache of prefixes had: not computed, but read
  std::int64_t outputs = 1;    ///< tokens, >= 1
  double load_seconds = 0;     ///< that loads of what was found take, from memory behind the cache
  bool prefilled = false;      ///< another engine computed its prompt and first token, and it needs a place alone
};

/// What is told of requests while steps are taken; each may be empty.
struct LoopEvents {
  /// A prompt was admitted to a step, its first token is out, it ended.
  std::function<void(std::int64_t index)> on_admission, on_first_token, on_end;
};

/// The steps that an engine makes of the requests of one rank, a group of equal ones at a time. It knows no time:
/// whoever drives it says when requests come.
class RankLoop {
 public:
  RankLoop(const LoopRules& rules, const std::array<std::int64_t, most_windows>& windows)
      : rules_(rules), windows_(windows), tokens_a_step_(rules.drafts.tokens_of_step()) {}

  /// A request joins the queue.
  void submit(const LoopRequest& request);
  bool idle() const { return running_.empty() && waiting_.empty(); }
  std::int64_t num_running() const { return std::ssize(running_); }
  std::int64_t num_waiting() const { return std::ssize(waiting_); }
  /// Tokens of prompts in it that are neither computed nor found.
  std::int64_t waiting_tokens() const;

  /// Sees the requests that have come, where it is time to look for them.
  void look();
  /// Has it a prompt that the next step could take a part of?
  bool has_prompts() const;
  bool generates() const { return decoding_ > 0; }
  /// Decides what the next step computes; where it admits nobody, of prompts those alone that are admitted. A request
  /// alone is served though it does not fit the cache. Pre: not idle.
  void next(bool admits, const LoopEvents& events);
  /// So many steps like it follow each other before a request ends or arrivals are looked at; 1 with prompts.
  std::int64_t most_steps() const;
  /// The batch of `steps` such steps, at their middle: contexts grow with every step.
  StepBatch middle(std::int64_t steps) const;
  /// Takes `steps` of them, 1 .. most_steps().
  void complete(std::int64_t steps, const LoopEvents& events);

 private:
  struct Active {
    std::int64_t index = 0;
    std::int64_t prompt = 0;     // to be there before it generates: its prompt, and what it had when it gave way
    std::int64_t outputs = 0;    // still to be generated behind that
    std::int64_t computed = 0;   // of its prompt, those found included
    std::int64_t found = 0;
    double load_seconds = 0;     // still to be waited for
    std::int64_t generated = 0;  // behind its prompt
    std::int64_t steps = 0;      // in which it generated, behind its prompt
    bool began = false;          // its first token is out
    bool prefilled = false;      // its prompt is there as it is admitted
    bool decodes() const { return generated > 0; }
    std::int64_t tokens() const { return prompt + generated; }
  };

  double held_by(const Active& request) const;
  bool fits(const Active& request) const;
  std::int64_t steps_that_fit() const;
  std::int64_t generated_after(std::int64_t steps) const;
  std::int64_t steps_to_end(const Active& request) const;
  bool make_room();
  void admit(const LoopEvents& events);
  std::int64_t prompt_budget() const;
  bool has_room(const Active& request, std::int64_t tokens) const;
  std::int64_t admissible_tokens() const;
  bool waits_for_company();
  void take_prompts(bool admits, const LoopEvents& events);

  LoopRules rules_;
  std::array<std::int64_t, most_windows> windows_;
  double tokens_a_step_;         // of a sequence that generates
  std::vector<Active> running_;
  std::deque<Active> waiting_;
  std::int64_t seen_ = 0;        // of the waiting ones, those that the engine has looked at
  std::int64_t since_poll_ = 0;
  std::int64_t waited_ = 0;      // steps in which prompts could have been admitted and waited for company
  std::int64_t decoding_ = 0;
  double held_ = 0;              // tokens of the cache
  StepBatch prompts_;            // of the step at hand
  bool decodes_ = false;         // may sequences generate in it; did somebody give way before it?
  bool gave_way_ = false;
  bool waits_ = false;           // do prompts wait in it for company?
};

}  // namespace hybridkv
