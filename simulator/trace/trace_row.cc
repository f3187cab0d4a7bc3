#include "simulator/trace/trace_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "simulator/trace/generated_content.h"

namespace hybridkv {

namespace {

std::int64_t positive_id(std::uint64_t hash) { return static_cast<std::int64_t>(hash >> 1); }

/// As the forms that published traces have always had it.
double timestamp(const JsonElement& object, double per_unit) {
  double value = 0;
  if (object["timestamp"].get(value)) throw DamagedLine{"timestamp is missing or no number"};
  if (!(value >= 0)) throw DamagedLine{fmt::format("timestamp is {}, below 0", value)};
  return value * per_unit;
}

}  // namespace

void add_salt(const JsonElement& object, TraceRow& row) {
  const std::uint64_t salt = name_hash(object, "cache_salt");
  if (salt != 0) row.scope = mix64(salt, row.scope);
}

std::int64_t append_runs(const TraceRow& row, IdCount count, std::int64_t number, std::vector<TokenRun>& runs) {
  const std::int64_t length = row.request.input_length;
  const std::int64_t blocks = ceil_div(length, row.block_tokens), full = length / row.block_tokens;
  const std::int64_t ids = std::ssize(row.ids);
  if (count == IdCount::exact && ids != blocks)
    throw InputError(fmt::format("the trace contradicts itself: input_length {} makes {} ids of {} tokens, "
                                 "hash_ids has {}", length, blocks, row.block_tokens, ids));
  if (count == IdCount::full && ids != blocks && ids != full)
    throw InputError(fmt::format("the trace contradicts itself: {} tokens make {} blocks of {}, {} of them full, and "
                                 "there are {} ids; give one per block, or leave out that of the last one where it "
                                 "is not full", length, blocks, row.block_tokens, full, ids));
  std::uint64_t chain = row.scope == 0 ? empty_chain : mix64(empty_chain, row.scope);
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < std::min(ids, blocks); ++i) {
    chain = extend_chain(chain, row.ids[static_cast<std::size_t>(i)], start);
    start = std::min(start + row.block_tokens, length);
    runs.push_back({start, chain});
  }
  if (start == length) return 0;
  runs.push_back({length, generated_content(chain, number, start)});
  return length - start;
}

IdCount TraceRowReader::id_count(TraceForm form) {
  return form == TraceForm::mooncake || form == TraceForm::qwen ? IdCount::exact : IdCount::full;
}

double TraceRowReader::since_first(double seconds, const char* field) {
  if (first_seconds_ < 0) first_seconds_ = seconds;
  if (seconds < first_seconds_)
    throw InputError(fmt::format("{} is {}, before the {} of the first request; sort the lines by {}", field, seconds,
                                 first_seconds_, field));
  return seconds - first_seconds_;
}

void TraceRowReader::read_tokens(const JsonElement& object) {
  TraceRequest& request = row_.request;
  simdjson::dom::array input, output;
  if (object["input_tokens"].get(input)) throw DamagedLine{"input_tokens is missing or no list"};
  if (object["output_tokens"].get(output)) throw DamagedLine{"output_tokens is missing or no list"};
  request.input_length = integer_field(object, "num_input_tokens", 1, longest_length);
  request.output_length = integer_field(object, "num_output_tokens", 0, longest_length);
  row_.block_tokens = hashed_tokens;
  row_.ids.clear();
  std::int64_t tokens = 0;
  std::uint64_t block = empty_chain;
  for (const JsonElement token : input) {
    std::int64_t id = 0;
    if (token.get(id)) throw DamagedLine{fmt::format("input_tokens[{}] is no integer", tokens)};
    if (id < 0) throw DamagedLine{fmt::format("input_tokens[{}] is {}, below 0", tokens, id)};
    block = mix64(block, static_cast<std::uint64_t>(id));
    if (++tokens % hashed_tokens == 0) {
      row_.ids.push_back(block);
      block = empty_chain;
    }
  }
  if (tokens % hashed_tokens != 0) row_.ids.push_back(block);
  std::int64_t generated = 0;
  for (const JsonElement token : output) {
    std::int64_t id = 0;
    if (token.get(id) || id < 0) throw DamagedLine{fmt::format("output_tokens[{}] is no token id", generated)};
    ++generated;
  }
  for (const auto& [field, said, listed] : {std::tuple{"input_tokens", request.input_length, tokens},
                                            std::tuple{"output_tokens", request.output_length, generated}})
    if (said != listed)
      throw InputError(fmt::format("the trace contradicts itself: num_{0} is {1}, {0} has {2}", field, said, listed));
  const std::uint64_t session = name_hash(object, "session_id");
  if (session == 0) throw DamagedLine{"no field session_id"};
  request.chat_id = positive_id(session);
  const std::int64_t turn = integer_field(object, "turn_id", 0, longest_length);
  const double seconds = time_field(object, "ts");
  if (first_turn_ < 0) first_turn_ = turn;
  request.turn = turn + (first_turn_ == 0 ? 1 : 0);
  request.arrival_seconds = since_first(seconds, "ts");
}

void TraceRowReader::read_form(const JsonElement& object, TraceForm form) {
  TraceRequest& request = row_.request;
  if (form == TraceForm::tokens) return read_tokens(object);
  if (form == TraceForm::lookups) {
    request.input_length = integer_field(object, "seq_len", 1, longest_length);
    row_.block_tokens = integer_field(object, "chunk_size", 1, longest_length);
    row_.scope = mix64(name_hash(object, "model_name"), static_cast<std::uint64_t>(row_.block_tokens));
    id_list(object, "chunk_hashes", row_.ids, true);
    request.arrival_seconds = since_first(time_field(object, "timestamp"), "timestamp");
    return;
  }
  if (form == TraceForm::blocks) {
    if (has_field(object, "timestamp")) request.arrival_seconds = time_field(object, "timestamp") * 1e-3;
    request.input_length = integer_field(object, "input_length", 1, longest_length);
    if (has_field(object, "output_length"))
      request.output_length = integer_field(object, "output_length", 0, longest_length);
    row_.block_tokens = integer_field(object, "block_size", 1, longest_length);
    if (block_size_ == 0) block_size_ = row_.block_tokens;
    if (block_size_ != row_.block_tokens)
      throw InputError(fmt::format("block_size is {}, that of earlier lines {}: their ids cannot be compared; make a "
                                   "file per size", row_.block_tokens, block_size_));
    id_list(object, "hash_ids", row_.ids);
    return;
  }
  const bool qwen = form == TraceForm::qwen;
  request.arrival_seconds = timestamp(object, qwen ? 1 : 1e-3);
  request.input_length = integer_field(object, "input_length", 1, longest_length);
  request.output_length = integer_field(object, "output_length", 0, longest_length);
  if (qwen) {
    request.chat_id = integer_field(object, "chat_id", 0, INT64_MAX);
    request.parent_chat_id = integer_field(object, "parent_chat_id", -1, INT64_MAX);
    request.turn = integer_field(object, "turn", 1, INT64_MAX);
  }
  row_.block_tokens = qwen ? 16 : 512;
  id_list(object, "hash_ids", row_.ids);
}

const TraceRow& TraceRowReader::read(const JsonElement& object, TraceForm form) {
  row_.request = {};
  row_.scope = 0;
  read_form(object, form);
  add_salt(object, row_);
  return row_;
}

}  // namespace hybridkv
