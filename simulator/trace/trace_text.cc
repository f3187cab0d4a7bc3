#include "simulator/trace/trace_text.h"

#include <fmt/format.h>

#include <iterator>

namespace hybridkv {

namespace {

constexpr std::int64_t tokens_of_id = 16;

}  // namespace

void TraceText::append_ids(const TraceBatch& batch, const TraceRequest& request, std::string& lines) {
  prefix_keys(batch.prompt(request), tokens_of_id, keys_);
  if (request.input_length % tokens_of_id != 0)
    keys_.push_back(prefix_key(batch.prompt(request).back().chain, request.input_length));
  bool first = true;
  for (const PrefixKey key : keys_) {
    const auto [place, is_new] = ids_.try_emplace(key, std::ssize(ids_));
    fmt::format_to(std::back_inserter(lines), "{}{}", first ? "" : ", ", place->second);
    first = false;
  }
}

void TraceText::append(const TraceBatch& batch, std::string& lines) {
  for (const TraceRequest& request : batch.requests) {
    fmt::format_to(std::back_inserter(lines),
                   R"({{"chat_id": {}, "parent_chat_id": {}, "turn": {}, "timestamp": {}, )"
                   R"("input_length": {}, "output_length": {}, "hash_ids": [)",
                   request.chat_id, request.parent_chat_id, request.turn, request.arrival_seconds,
                   request.input_length, request.output_length);
    append_ids(batch, request, lines);
    lines += "]}\n";
  }
}

}  // namespace hybridkv
