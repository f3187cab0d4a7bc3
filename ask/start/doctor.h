#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask/replay/simulate.h"
#include "ask/start/boot.h"
#include "ask/start/run_reasons.h"
#include "ask/start/startup_log.h"
#include "planner/cache_plan.h"
#include "scenarios/read.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// A log to be explained.
struct DoctorQuestion {
  StartupLog log;
  std::string log_name;  ///< how messages call it
  ScenarioFile asked;    ///< what the user says of the deployment; it wins over the log
  std::string typed;     ///< the flags that say it, as a shell takes them; empty: none
  std::string trace_words = {};  ///< those of the requests that the engine had, likewise; empty: they are not known
  std::function<void(const SweepProgress&)> on_progress = {};  ///< of the replay of these
};

/// A key of a scenario and its value: "engine.cache_mode", "align".
using Assignment = std::pair<std::string, std::string>;

/// One printed figure beside what the rules give.
struct FigureCheck {
  LogKey key = LogKey::block_size;
  std::string printed;
  std::string planned;     ///< with as many decimals; of memory the range that gives the blocks; empty: not computed
  bool explained = false;  ///< to the last digit
};

/// Settings under which a release's rules give the figures, or most of them.
struct Explanation {
  std::string model;
  std::vector<Assignment> settings;  ///< what the log and its rules ask for, release first
  std::vector<std::string> assumed;  ///< settings of these that the log does not say, a few words each
  std::vector<FigureCheck> figures;  ///< those of the log, in the order of log_figures
  std::vector<std::string> also;     ///< "vllm-0.33, sm80": what else explains as many figures with as little assumed
  std::int64_t length = 0;           ///< max_model_len, tokens; 0: the log does not say it
  std::optional<std::int64_t> num_blocks;
  CachePlan plan;                    ///< with that number of blocks; numbers only
  bool is_sized_by_settings = false;  ///< pools: the settings give their sizes, and there is no number of blocks
  std::vector<Assignment> cache_settings = {};  ///< what the log says of how prefixes are found, of section simulate
  std::optional<AnyCache> cache = {};  ///< that finds them; nothing where no replay of the engine is known
  bool is_complete() const;
};

/// Settings that hold more requests in the same memory.
struct BetterSetting {
  std::string command;      ///< `hybridkv plan …`, planned to be sure
  std::string what;         ///< "K and V in fp8"
  std::string gives_up;     ///< what it costs; empty: nothing
  double concurrency = 0;   ///< as the engine prints it
  std::int64_t kv_cache_tokens = 0;
  std::int64_t block_size_tokens = 0;
};

/// Why a start failed.
struct StartFailure {
  std::string code;            ///< stable: "memory", "longest_request", "running_requests", "free_memory"
  std::int64_t line = 0;       ///< of the log
  std::string text;            ///< with the numbers of the rules; no full stop
  std::vector<BootTry> tries;  ///< what starts in the same memory
};

/// What one setting finds of the requests of the user.
struct ReplayedSetting {
  std::string what;      ///< "as found", "K and V in fp8"
  std::string gives_up;  ///< empty: nothing
  std::string command;   ///< `hybridkv simulate …` that finds the same
  double concurrency = 0;
  ReplayedCache cache;
};

/// The requests of the user, replayed.
struct LogReplay {
  std::string trace;
  DriverSpec driver;
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::string search_command;             ///< `hybridkv recommend …` that searches all settings of the engine
  std::vector<ReplayedSetting> settings;  ///< first those of the log; the others by what they find, most first
};

/// What a log says, why, what is wrong with it, and what would do better.
struct DoctorAnswer {
  StartupLog found = {};
  Explanation explained = {};
  std::vector<std::string> contradictions = {};
  std::string undecided = {};  ///< figures that settings decide which neither log nor user says; empty: none
  std::optional<StartFailure> failure = {};   ///< of a start that failed
  std::vector<RunReason> reasons = {};        ///< why what was seen at run time is as it is
  std::vector<BetterSetting> better = {};     ///< that hold more requests
  std::vector<BetterSetting> more_hits = {};  ///< that may find more; of a log with lines of run time
  std::optional<LogReplay> replay = {};       ///< where the requests are known
};

/// Explains a log. Throws InputError where it has no figure of a cache, or names no model that is known and none is
/// given; of the last the message says what to pass.
DoctorAnswer doctor(const DoctorQuestion& question);

}  // namespace hybridkv
