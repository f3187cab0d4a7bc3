#include "ask/transfer/transfer_counts.h"

#include <algorithm>
#include <bit>
#include <map>

namespace hybridkv {

namespace {

void add(RunSizes& sum, const RunSizes& part) {
  if (part.descriptors > 0)
    sum.shortest = sum.descriptors == 0 ? part.shortest : std::min(sum.shortest, part.shortest);
  sum.longest = std::max(sum.longest, part.longest);
  sum.descriptors += part.descriptors;
  sum.bytes += part.bytes;
  sum.written_bytes += part.written_bytes;
}

bool is_same_tensor(const TransferTensor& tensor, const Content& content) {
  return tensor.role == content.role && tensor.kind == content.kind && tensor.tensor == content.tensor &&
         tensor.from_dtype == content.from_dtype && tensor.to_dtype == content.to_dtype;
}

/// The tensor of each content, made where there is none yet.
std::vector<std::size_t> group_contents(const std::vector<Content>& contents, std::vector<TransferTensor>& tensors) {
  std::vector<std::size_t> tensor_of;
  for (const Content& content : contents) {
    auto at = std::find_if(tensors.begin(), tensors.end(),
                           [&](const TransferTensor& tensor) { return is_same_tensor(tensor, content); });
    if (at == tensors.end())
      at = tensors.insert(tensors.end(), {.role = content.role,
                                          .kind = content.kind,
                                          .tensor = content.tensor,
                                          .from_dtype = content.from_dtype,
                                          .to_dtype = content.to_dtype,
                                          .runs = {}});
    ++at->layers;
    at->unique_bytes += content.unique_bytes;
    tensor_of.push_back(static_cast<std::size_t>(at - tensors.begin()));
  }
  return tensor_of;
}

std::int64_t median_of(std::vector<std::int64_t> sizes) {
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + (std::ssize(sizes) - 1) / 2;
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

RunSizes sum_of(const std::vector<TransferTensor>& tensors, bool states) {
  RunSizes sum;
  for (const TransferTensor& tensor : tensors)
    if ((tensor.tensor != "kv") == states) add(sum, tensor.runs);
  return sum;
}

}  // namespace

void RunSizes::add(const Copy& copy) {
  hybridkv::add(*this, {.descriptors = 1,
                        .bytes = copy.bytes,
                        .written_bytes = copy.to_bytes,
                        .shortest = copy.bytes,
                        .longest = copy.bytes});
}

RunSizes TransferCounts::of_states() const { return sum_of(tensors, true); }

RunSizes TransferCounts::of_tokens() const { return sum_of(tensors, false); }

TransferCounts count_runs(const CopyList& list) {
  TransferCounts counts;
  counts.unique_bytes = list.unique_bytes();
  counts.tensor_of = group_contents(list.contents, counts.tensors);
  std::vector<std::int64_t> sizes;
  sizes.reserve(static_cast<std::size_t>(list.descriptors()));
  std::map<int, RunSizeBin> bins;
  for (const RankCopies& pair : list.pairs) {
    std::vector<RunSizes> by_tensor(counts.tensors.size());
    for (const Copy& copy : pair.copies) {
      by_tensor[counts.tensor_of[static_cast<std::size_t>(copy.content)]].add(copy);
      sizes.push_back(copy.bytes);
      const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(copy.bytes))) - 1;
      RunSizeBin& bin = bins[bits];
      bin.least_bytes = std::int64_t(1) << bits;
      ++bin.descriptors;
      bin.bytes += copy.bytes;
    }
    for (const JoinedBytes& joined : pair.joined) {
      RunSizes& from = by_tensor[counts.tensor_of[static_cast<std::size_t>(joined.begins_with)]];
      RunSizes& to = by_tensor[counts.tensor_of[static_cast<std::size_t>(joined.content)]];
      from.bytes -= joined.bytes;
      from.written_bytes -= joined.to_bytes;
      to.bytes += joined.bytes;
      to.written_bytes += joined.to_bytes;
    }
    RunSizes of_pair;
    for (std::size_t tensor = 0; tensor < by_tensor.size(); ++tensor) {
      if (by_tensor[tensor].bytes == 0) continue;
      counts.rows.push_back({pair.from_rank, pair.to_rank, tensor, by_tensor[tensor]});
      add(counts.tensors[tensor].runs, by_tensor[tensor]);
      add(of_pair, by_tensor[tensor]);
    }
    counts.pairs.push_back({pair.from_rank, pair.to_rank, of_pair});
    add(counts.all, of_pair);
  }
  counts.median_bytes = median_of(std::move(sizes));
  for (const auto& [bits, bin] : bins) counts.sizes.push_back(bin);
  return counts;
}

}  // namespace hybridkv
