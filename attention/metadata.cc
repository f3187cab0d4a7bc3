#include "attention/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

void check_size(const char* field, std::size_t have, std::int64_t want) {
  if (static_cast<std::int64_t>(have) != want)
    throw InputError(fmt::format("attention metadata: {} has {} entries, {} are needed", field, have, want));
}

void check_row(const CommonAttentionMetadata& metadata, std::int64_t request, const KeyMask& mask) {
  const std::int64_t used = ceil_div(metadata.seq_lens[request], metadata.block_size_tokens);
  if (used > metadata.max_blocks_per_req)
    throw InputError(fmt::format("request {}: {} tokens need {} blocks of {}, but the block table has {} columns",
                                 request, metadata.seq_lens[request], used, metadata.block_size_tokens,
                                 metadata.max_blocks_per_req));
  const auto row = metadata.block_table.begin() + request * metadata.max_blocks_per_req;
  std::vector<std::int64_t> ids(row + std::min(used, first_visible_column(metadata, request, mask)), row + used);
  std::sort(ids.begin(), ids.end());
  if (!ids.empty() && ids.front() < 0)
    throw InputError(fmt::format("request {}: block id {} is negative", request, ids.front()));
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end())
    throw InputError(fmt::format("request {}: block {} stands twice in its block table", request, *twice));
}

}  // namespace

std::int64_t first_visible_column(const CommonAttentionMetadata& metadata, std::int64_t request, const KeyMask& mask) {
  return mask.first_visible(metadata.position(request, 0)) / metadata.block_size_tokens;
}

void check_metadata(const CommonAttentionMetadata& metadata, const KeyMask& mask) {
  const std::int64_t requests = metadata.num_reqs;
  // Usages of a block are counted in 32 bits, as accelerators do.
  const std::int64_t largest_block = std::numeric_limits<std::int32_t>::max();
  if (requests < 0 || metadata.block_size_tokens < 1 || metadata.block_size_tokens > largest_block ||
      metadata.max_blocks_per_req < 0)
    throw InputError(fmt::format("attention metadata: {} requests with rows of {} blocks of {} tokens", requests,
                                 metadata.max_blocks_per_req, metadata.block_size_tokens));
  check_size("query_start_loc", metadata.query_start_loc.size(), Checked(requests) + 1);
  check_size("seq_lens", metadata.seq_lens.size(), requests);
  check_size("num_computed_tokens", metadata.num_computed_tokens.size(), requests);
  check_size("block_table", metadata.block_table.size(), Checked(requests) * metadata.max_blocks_per_req);
  check_size("slot_mapping", metadata.slot_mapping.size(), metadata.num_actual_tokens);
  if (metadata.query_start_loc.front() != 0 || metadata.query_start_loc.back() != metadata.num_actual_tokens)
    throw InputError(fmt::format("attention metadata: query_start_loc runs from {} to {}, not from 0 to the {} tokens",
                                 metadata.query_start_loc.front(), metadata.query_start_loc.back(),
                                 metadata.num_actual_tokens));
  for (std::int64_t request = 0; request < requests; ++request) {
    const std::int64_t query_len = metadata.query_len(request), seq_len = metadata.seq_lens[request];
    if (query_len < 0 || seq_len < 0 || metadata.num_computed_tokens[request] != seq_len - query_len)
      throw InputError(fmt::format("request {}: {} context and {} query tokens do not make a sequence of {}", request,
                                   metadata.num_computed_tokens[request], query_len, seq_len));
    check_row(metadata, request, mask);
  }
}

CommonAttentionMetadata make_metadata(std::span<const std::int64_t> query_lens,
                                      std::span<const std::int64_t> seq_lens, std::vector<std::int64_t> block_table,
                                      std::int64_t max_blocks_per_req, std::int64_t block_size_tokens,
                                      const KeyMask& mask) {
  check_size("seq_lens", seq_lens.size(), static_cast<std::int64_t>(query_lens.size()));
  CommonAttentionMetadata metadata;
  metadata.num_reqs = static_cast<std::int64_t>(query_lens.size());
  metadata.block_size_tokens = block_size_tokens;
  metadata.max_blocks_per_req = max_blocks_per_req;
  metadata.block_table = std::move(block_table);
  metadata.seq_lens.assign(seq_lens.begin(), seq_lens.end());
  metadata.query_start_loc.push_back(0);
  Checked tokens = 0;
  for (std::size_t request = 0; request < query_lens.size(); ++request) {
    if (query_lens[request] < 0 || seq_lens[request] < 0)
      throw InputError(fmt::format("request {}: {} query tokens of a sequence of {}", request, query_lens[request],
                                   seq_lens[request]));
    tokens += query_lens[request];
    metadata.query_start_loc.push_back(tokens);
    metadata.num_computed_tokens.push_back(Checked(seq_lens[request]) - query_lens[request]);
    metadata.max_query_len = std::max(metadata.max_query_len, query_lens[request]);
    metadata.max_seq_len = std::max(metadata.max_seq_len, seq_lens[request]);
  }
  metadata.num_actual_tokens = tokens;
  metadata.slot_mapping.assign(metadata.num_actual_tokens, -1);
  check_metadata(metadata, mask);

  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    for (std::int64_t i = 0; i < metadata.query_len(request); ++i) {
      const std::int64_t position = metadata.position(request, i);
      if (position < 0) continue;
      const std::int64_t block = metadata.block(request, position / block_size_tokens);
      metadata.slot_mapping[metadata.query_start_loc[request] + i] =
          Checked(block) * block_size_tokens + position % block_size_tokens;
    }
  }
  return metadata;
}

}  // namespace hybridkv
