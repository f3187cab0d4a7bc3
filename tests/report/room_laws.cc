#include "tests/report/room_laws.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace hybridkv::testing {

namespace {

/// What a room alone does not answer, though `plan` does.
struct OwnRefusal {
  std::string_view room;
  std::string_view problem;  ///< part of the message
};

constexpr OwnRefusal own_refusals[] = {
    {"boot", "engine.release: how "},  // it starts is not known: its rules were read, or its pools alone are known
    {"transfer", "engine.decode_context_parallel: "},
    {"transfer", "which rank has which is the engine's secret"},
    {"transfer", "give fewer tokens or more memory"},  // pools that a user made too small
    {"transfer", "the engine makes no views"},
    {"closed form", "hold what lies beside the layers"},  // in large pages
    {"simulate", "hold what lies beside the layers"},
    {"simulate", "finds prefixes by slot"},
    {"simulate", "only the sizes of the first manager are known"},
    {"simulate", "simulate."},  // a match unit, an interval or memory of the host that the cache does not take
    {"simulate", "engine.cache_mode: is none: without a radix tree"},
    {"simulate", "engine.max_num_batched_tokens: mode align cuts chunks"},
    {"bound", "engine.cache_mode: this cache finds no prefix again"},
    {"bound", "engine.periodic_snapshot_interval: no snapshot of a state is ever taken"},
    {"bound", "keeps the states of prompts on the host"},
};

/// What a room says otherwise than the others on purpose, where a question has a key.
struct KnownDifference {
  std::string_view room;
  std::string_view what;  ///< how the name of the number begins
  std::string_view key;
};

constexpr KnownDifference known_differences[] = {
    // A forward pass runs one network, whole, in blocks that are scaled down; its cases take a unit of their own.
    {"verify --forward", "tables", "engine.decode_context_parallel"},
    {"verify --forward", "match unit", "engine.decode_context_parallel"},
    {"verify --forward", "match unit", "engine.prefix_match_unit_tokens"},
};

/// What says how many requests have room.
constexpr std::string_view rooms_of_requests[] = {"engine.memory: ", "engine.pipeline_memory: ",
                                                  "engine.num_blocks: "};

/// Rooms that replay, and refuse what the first of them refuses.
constexpr std::string_view replaying[] = {"simulate", "compare --replay", "sweep --simulate", "bound"};

bool is_known(const RandomQuestion& question, const std::string& room, const std::string& what) {
  return std::any_of(std::begin(known_differences), std::end(known_differences), [&](const KnownDifference& known) {
    return room == known.room && what.starts_with(known.what) && !question.value_of(known.key).empty();
  });
}

bool replays(const std::string& room) {
  return std::find(std::begin(replaying), std::end(replaying), room) != std::end(replaying);
}

/// Its own, or that of all rooms that replay.
bool is_own_refusal(const RoomAnswer& answer) {
  return std::any_of(std::begin(own_refusals), std::end(own_refusals), [&](const OwnRefusal& own) {
    const bool of_room = answer.room == own.room || (own.room == replaying[0] && replays(answer.room));
    return of_room && answer.refusal->problem.find(own.problem) != std::string::npos;
  });
}

std::string quoted(const RoomRefusal& refusal) { return fmt::format("[{}] {}", refusal.place, refusal.problem); }

/// A room of two sides says on which one.
std::string without_side(const std::string& problem) {
  for (const char* const side : {"from.", "to."})
    if (problem.starts_with(side)) return problem.substr(std::string_view(side).size());
  return problem;
}

/// Points of a sweep know no places.
bool knows_places(const std::string& room) { return !room.starts_with("sweep"); }

/// Another room refuses: with the same words at the same place.
void check_same(const RoomAnswer& first, const RoomAnswer& answer, std::vector<std::string>& broken) {
  const bool other_place = knows_places(answer.room) && answer.refusal->place != first.refusal->place;
  if (without_side(answer.refusal->problem) == first.refusal->problem && !other_place) return;
  broken.push_back(fmt::format("{} refuses {}, {} {}", answer.room, quoted(*answer.refusal), first.room,
                               quoted(*first.refusal)));
}

/// "engine.memory" of "engine.memory: 1024 bytes …".
std::string refused_path(const RoomRefusal& refusal) {
  const std::string problem = without_side(refusal.problem);
  return problem.substr(0, problem.find(": "));
}

/// `plan` refuses: so does every room.
void check_refusal(const RandomQuestion& question, const RoomAnswer& plan, const RoomAnswer& answer,
                   std::vector<std::string>& broken) {
  if (answer.refusal) {
    const bool is_own = is_own_refusal(answer) && !replays(answer.room);
    // All stages of a pipeline move a request, and the first of them may be another one than is planned.
    const bool of_stage = answer.room == "transfer" && !question.value_of("engine.pipeline_rank").empty() &&
                          refused_path(*answer.refusal) == refused_path(*plan.refusal);
    if (!is_own && !of_stage) check_same(plan, answer, broken);
    return;
  }
  const auto fits = answer.says.find("fits");  // a room for which that is an answer
  const bool of_room = std::any_of(std::begin(rooms_of_requests), std::end(rooms_of_requests),
                                   [&](std::string_view key) { return plan.refusal->problem.starts_with(key); });
  if (of_room && fits != answer.says.end() && fits->second == "false") return;
  broken.push_back(fmt::format("{} answers, plan refuses: {}", answer.room, quoted(*plan.refusal)));
}

/// A refusal names the value where it stands, as it was typed.
void check_place(const RandomQuestion& question, const RoomAnswer& answer, std::vector<std::string>& broken) {
  const RoomRefusal& refusal = *answer.refusal;
  const std::string path = refused_path(refusal);
  const auto asked = std::find_if(question.keys.begin(), question.keys.end(), [&](const AskedKey& one) {
    return path == one.key || path.starts_with(one.key + ".") || path.starts_with(one.key + "[");
  });
  if (!knows_places(answer.room)) return;
  const bool is_typed = asked != question.keys.end() && !asked->in_file;
  const bool is_right = is_typed ? refusal.place == RandomQuestion::shown(*asked) : !refusal.place.empty();
  const bool is_internal = path.starts_with("geometry.") || path.starts_with("radix.");
  if (!is_right || is_internal)
    broken.push_back(fmt::format("{} refuses at another place than the question's: {}", answer.room, quoted(refusal)));
}

/// `plan` answers: what another room refuses is known, and the same in all rooms that replay.
void check_own_refusal(const std::vector<RoomAnswer>& answers, const RoomAnswer& answer,
                       std::vector<std::string>& broken) {
  if (!is_own_refusal(answer))
    broken.push_back(fmt::format("{} alone refuses {}", answer.room, quoted(*answer.refusal)));
  const auto simulate = std::find_if(answers.begin(), answers.end(),
                                     [](const RoomAnswer& one) { return one.room == replaying[0]; });
  const bool both = simulate != answers.end() && simulate->refusal && replays(answer.room);
  if (both && answer.room != "bound") check_same(*simulate, answer, broken);
}

}  // namespace

std::vector<std::string> broken_laws(const RandomQuestion& question, const std::vector<RoomAnswer>& answers) {
  std::vector<std::string> broken;
  std::map<std::string, const RoomAnswer*> said_by;  // the first to say it
  const RoomAnswer& plan = answers.front();
  for (const RoomAnswer& answer : answers) {
    if (answer.refusal) check_place(question, answer, broken);
    if (plan.refusal) {
      if (&answer != &plan) check_refusal(question, plan, answer, broken);
      continue;
    }
    if (answer.refusal) check_own_refusal(answers, answer, broken);
    for (const auto& [what, value] : answer.says) {
      const auto [first, is_first] = said_by.emplace(what, &answer);
      const std::string& before = first->second->says.at(what);
      if (is_first || before == value || is_known(question, answer.room, what)) continue;
      broken.push_back(fmt::format("{}: {} in {}, {} in {}", what, before, first->second->room, value, answer.room));
    }
    for (const RoomLimit& limit : answer.limits)
      if (limit.value > limit.most && !is_known(question, answer.room, limit.what))
        broken.push_back(fmt::format("{} in {}: {}, at most {}", limit.what, answer.room, limit.value, limit.most));
  }
  return broken;
}

}  // namespace hybridkv::testing
