#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ask/conform/conform_case.h"
#include "ask/conform/record_difference.h"

namespace hybridkv {

/// Do we agree with the engine that is installed?
struct ConformQuestion {
  const Engine* engine = nullptr;   ///< that has a conformance
  std::vector<std::string> driver;  ///< the words that start its driver: the interpreter and the program
  ConformGrid grid;
};

/// A case in which we do not, with the derivation of both sides.
struct ConformDifference {
  std::string words;            ///< of the case
  nlohmann::ordered_json request;
  RecordDifference first;       ///< "refusal" where one side alone plans the case
  std::string rule;             ///< of ours that it falsifies: "B = A * ceil(M / (A * N * a1))"; empty: none is named
  std::string values;           ///< the same with numbers, where it is a formula
  std::string source;           ///< whose rule we take it for
  std::string made_by;          ///< the engine's own function that gives the figure, with file and line
  std::string said;             ///< what it said of it
};

struct ConformAnswer {
  const EngineRules* rules = nullptr;
  std::string version;             ///< of the installed engine
  std::string known_version;       ///< that our rules are of
  std::vector<std::string> stubs;  ///< what stood for a GPU, a sentence each
  std::int64_t cases = 0;
  std::int64_t equal = 0;          ///< planned by both, with every figure equal
  std::int64_t refused = 0;        ///< by both; also where we say that the engine may end, and it does
  /// Cases of what a driver cannot put to the engine, by why: neither equal nor different.
  std::map<std::string, std::int64_t> not_asked;
  std::map<std::string, FigureCount> figures;
  std::vector<ConformDifference> differences;
  bool agrees() const { return differences.empty(); }
};

/// Called with how many of how many cases are done.
using ConformProgress = std::function<void(const ConformCase& one, std::int64_t done, std::int64_t total)>;
/// Called with every case that the engine answered, as a record for tests to keep: the request and its figures or that
/// it was refused.
using ConformRecords = std::function<void(const nlohmann::ordered_json& record)>;

/// Asks the installed engine for the figures of every case and compares them with ours. Throws InputError where the
/// driver dies, answers what cannot be read, or does not fit the installed release; ProgramError where it cannot be
/// started. Pre: the engine has a conformance.
ConformAnswer conform(const ConformQuestion& question, const ConformProgress& progress = {},
                      const ConformRecords& records = {});

}  // namespace hybridkv
