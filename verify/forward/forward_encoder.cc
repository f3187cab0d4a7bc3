#include "verify/forward/forward_encoder.h"

#include "base/checked.h"

namespace hybridkv {

std::int64_t seen_of_encoder(std::int64_t encoder_tokens, std::int64_t block_size_tokens,
                             std::optional<ForwardFault> fault) {
  if (fault != ForwardFault::encoder_past_end) return encoder_tokens;
  return Checked(ceil_div(encoder_tokens, block_size_tokens)) * block_size_tokens;
}

CommonAttentionMetadata encoder_metadata(std::span<const ForwardChunk> chunks, std::size_t held,
                                         std::int64_t block_size_tokens, std::int64_t encoder_tokens, bool others) {
  const std::int64_t columns = ceil_div(encoder_tokens, block_size_tokens);
  std::vector<std::int64_t> query_lens, seq_lens, table;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const ForwardChunk& read = chunks[others ? (i + 1) % chunks.size() : i];
    const std::vector<BlockId>& blocks = read.blocks->held[held];
    for (std::int64_t token = chunks[i].computed; token < chunks[i].end; ++token) {
      query_lens.push_back(1);
      seq_lens.push_back(encoder_tokens);
      table.insert(table.end(), blocks.begin(), blocks.begin() + columns);
    }
  }
  return make_metadata(query_lens, seq_lens, std::move(table), columns, block_size_tokens, {});
}

std::vector<std::int64_t> encoder_slots(std::span<const BlockId> blocks, std::int64_t block_size_tokens,
                                        std::int64_t encoder_tokens) {
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < encoder_tokens; ++token)
    slots.push_back(blocks[static_cast<std::size_t>(token / block_size_tokens)] * block_size_tokens +
                    token % block_size_tokens);
  return slots;
}

}  // namespace hybridkv
