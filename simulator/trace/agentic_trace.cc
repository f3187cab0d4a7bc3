#include "simulator/trace/agentic_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"

namespace hybridkv {

namespace {

constexpr std::int64_t version_read = 2;
constexpr double milli = 1e-3;

std::string in_ticks(std::string_view text) {
  constexpr std::size_t longest = 60;
  return fmt::format("'{}'", printable(text.size() <= longest ? text : text.substr(0, longest)));
}

/// One of the words of a field. Throws DamagedLine with what may have been meant.
std::size_t choice(const JsonElement& object, const char* field, const std::vector<std::string>& words) {
  const std::string_view word = text_field(object, field);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    throw DamagedLine{fmt::format("{} is {}{}", field, in_ticks(word), suggestion(word, words, "known are"))};
  return static_cast<std::size_t>(found - words.begin());
}

bool has_local_ids(const JsonElement& object) { return choice(object, "hash_id_scope", {"local", "global"}) == 0; }

/// Calls `read`; what it throws of a damaged line begins with the place inside the line.
template <class Read>
void at_place(const char* list, std::size_t index, Read&& read) {
  try {
    read();
  } catch (const DamagedLine& damaged) {
    throw DamagedLine{fmt::format("{}[{}]: {}", list, index, damaged.what)};
  }
}

}  // namespace

std::int64_t AgenticReader::hold(const TraceRow& row, PromptThread& thread) {
  runs_.clear();
  uncovered_tokens_ += append_runs(row, IdCount::any, trace_.size(), runs_);
  return trace_.add(row.request, runs_, thread);
}

void AgenticReader::collect(const JsonElement& object, double start, std::vector<Leaf>& leaves,
                            std::int64_t& threads) const {
  simdjson::dom::array requests;
  if (object["requests"].get(requests)) throw DamagedLine{"requests is missing or no list"};
  // Sub-agents' times count from where they were called, or from the start of the session: those before the call cannot
  // be of the session.
  double first = latest_time;
  for (const JsonElement request : requests) {
    double time = 0;
    if (!request["t"].get(time)) first = std::min(first, time);
  }
  const double offset = first < start ? start : 0;
  const std::int64_t thread = threads++;
  std::int64_t turn = 0;
  std::size_t index = 0;
  for (const JsonElement request : requests) {
    at_place("requests", index, [&] {
      if (!request.is_object()) throw DamagedLine{fmt::format("is {}, not an object", kind_text(request))};
      const bool called = choice(request, "type", {"n", "s", "subagent"}) == 2;
      const double time = called && !has_field(request, "t") ? start : offset + time_field(request, "t");
      if (called) return collect(request, time, leaves, threads);
      Leaf& leaf = leaves.emplace_back();
      leaf.thread = thread;
      leaf.row.request.arrival_seconds = time;
      leaf.row.request.input_length = integer_field(request, "in", 1, longest_length);
      leaf.row.request.output_length = integer_field(request, "out", 0, longest_length);
      leaf.row.request.turn = ++turn;
      leaf.row.scope = name_hash(request, "model");
      add_salt(request, leaf.row);
      id_list(request, "hash_ids", leaf.row.ids);
      if (has_field(request, "api_time")) time_field(request, "api_time");
    });
    ++index;
  }
}

void AgenticReader::read_session(const JsonElement& object) {
  const std::int64_t block = integer_field(object, "block_size", 1, longest_length);
  const bool local = has_local_ids(object);
  if (!local && block_tokens_ == 0) block_tokens_ = block;
  if (!local && block_tokens_ != block)
    throw InputError(fmt::format("block_size is {}, that of earlier sessions {}: global ids cannot be compared then; "
                                 "make a file per size", block, block_tokens_));
  std::vector<Leaf> leaves;
  std::int64_t threads = 0;
  collect(object, 0, leaves, threads);
  ++sessions_;
  std::vector<PromptThread> prompts(static_cast<std::size_t>(threads));
  for (Leaf& leaf : leaves) {
    leaf.row.block_tokens = block;
    leaf.row.request.chat_id = sessions_;
    if (local) leaf.row.scope = mix64(static_cast<std::uint64_t>(sessions_), leaf.row.scope);
    hold(leaf.row, prompts[static_cast<std::size_t>(leaf.thread)]);
  }
}

void AgenticReader::read_header(const JsonElement& object) {
  try {
    text_field(object, "schema");
    const std::int64_t version = integer_field(object, "version", 0, INT64_MAX);
    if (version != version_read)
      throw DamagedLine{fmt::format("version is {}; what is read is version {}", version, version_read)};
    local_ids_ = has_local_ids(object);
    block_tokens_ = integer_field(object, "block_size", 1, longest_length);
  } catch (const DamagedLine& damaged) {
    throw InputError(fmt::format("{}; an agentic_v2 trace begins with a line {{schema, version, block_size, "
                                 "hash_id_scope, source}}", damaged.what));
  }
}

void AgenticReader::read_request(const JsonElement& object, std::int64_t line) {
  const std::string name(text_field(object, "request_id"));
  TraceRow row;
  row.block_tokens = block_tokens_;
  row.request.input_length = integer_field(object, "input_length", 1, longest_length);
  row.request.output_length = integer_field(object, "output_length", 0, longest_length);
  const char* const start = has_field(object, "not_before_ms") ? "not_before_ms" : "timestamp";
  if (has_field(object, start)) row.request.arrival_seconds = time_field(object, start) * milli;
  id_list(object, "hash_ids", row.ids);
  const std::uint64_t play = name_hash(object, "play_id"), named = name_hash(object, "session_id");
  const std::uint64_t session = named == 0 ? text_hash(name) : mix64(play, named);
  row.scope = name_hash(object, "model");
  add_salt(object, row);
  if (local_ids_) {
    if (play == 0 && named == 0)
      throw DamagedLine{"hash_id_scope is local, and neither play_id nor session_id says to what"};
    row.scope = mix64(play == 0 ? named : play, row.scope);
  }
  std::vector<Wish> wishes;
  simdjson::dom::array dependencies;
  if (has_field(object, "dependencies") && object["dependencies"].get(dependencies))
    throw DamagedLine{"dependencies is no list"};
  if (has_field(object, "dependencies")) {
    std::size_t index = 0;
    for (const JsonElement wanted : dependencies) {
      at_place("dependencies", index++, [&] {
        if (!wanted.is_object()) throw DamagedLine{fmt::format("is {}, not an object", kind_text(wanted))};
        Wish wish{.waiting = trace_.size(), .request_id = std::string(text_field(wanted, "request_id")),
                  .dependency = {}};
        wish.dependency.at_end = choice(wanted, "trigger", {"completion", "dispatch"}) == 0;
        if (has_field(wanted, "relation")) text_field(wanted, "relation");
        if (has_field(wanted, "delay_ms")) wish.dependency.delay_seconds = time_field(wanted, "delay_ms") * milli;
        wishes.push_back(std::move(wish));
      });
    }
  }
  const auto [found, is_new] = numbers_.emplace(name, trace_.size());
  if (!is_new)
    throw InputError(fmt::format("request_id {} stands in line {} already; every request needs one of its own",
                                 in_ticks(name), lines_[static_cast<std::size_t>(found->second)]));
  row.request.chat_id = static_cast<std::int64_t>(session >> 1);
  row.request.turn = ++turns_[session];
  lines_.push_back(line);
  names_.push_back(name);
  std::move(wishes.begin(), wishes.end(), std::back_inserter(wishes_));
  hold(row, threads_[session]);
}

std::optional<AgenticReader::Fault> AgenticReader::finish() {
  threads_.clear();
  for (Wish& wish : wishes_) {
    const auto found = numbers_.find(wish.request_id);
    const auto waiting = static_cast<std::size_t>(wish.waiting);
    if (found == numbers_.end())
      return Fault{lines_[waiting], fmt::format("request {} waits for {}, and no request of the trace is called that{}",
                                                in_ticks(names_[waiting]), in_ticks(wish.request_id),
                                                did_you_mean(wish.request_id, names_))};
    wish.dependency.request = found->second;
    trace_.add_dependency(wish.waiting, wish.dependency);
  }
  const std::int64_t circular = trace_.put_in_order();
  if (circular < 0) return std::nullopt;
  const auto number = static_cast<std::size_t>(circular);
  return Fault{lines_[number], fmt::format("request {} waits for itself, by way of what it waits for; take one of "
                                           "those dependencies out", in_ticks(names_[number]))};
}

}  // namespace hybridkv
