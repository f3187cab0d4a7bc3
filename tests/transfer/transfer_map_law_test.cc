#include <doctest/doctest.h>

#include <iostream>
#include <set>

#include "tests/transfer/live_elements.h"
#include "tests/transfer/random_pair.h"

namespace hybridkv {
namespace {

using namespace testing;

/// Longest run-free count: how often, in the order of the destination, an element does not follow the one before it on
/// both sides.
std::int64_t count_breaks(const std::vector<LiveElement>& written,
                          const std::map<ByteAddress, const LiveElement*>& source_of, const CopyList& list) {
  std::int64_t breaks = 0;
  for (const RankCopies& pair : list.pairs) {
    const LiveElement* before = nullptr;
    const LiveElement* read_before = nullptr;
    for (const LiveElement& element : written) {
      if (element.at.rank != pair.to_rank) continue;
      const LiveElement& read = *source_of.at(element.at);
      if (read.at.rank != pair.from_rank) continue;
      const bool follows = before != nullptr && before->at.pool == element.at.pool &&
                           before->at.byte + before->bytes == element.at.byte &&
                           read_before->at.pool == read.at.pool &&
                           read_before->at.byte + read_before->bytes == read.at.byte &&
                           // A run of converted elements holds no others.
                           ((before->dtype == read_before->dtype && element.dtype == read.dtype) ||
                            (before->dtype == element.dtype && read_before->dtype == read.dtype));
      if (!follows) ++breaks;
      before = &element;
      read_before = &read;
    }
  }
  return breaks;
}

/// "" where the copies write exactly the live elements, each once and from the same element of the source.
std::string fault_of(const TransferMap& map, const TransferRequest& request, const CopyList& list,
                     std::int64_t* num_breaks) {
  std::map<std::pair<bool, std::int64_t>, std::int64_t> live;
  for (const TransferSide* side : {&map.from(), &map.to()})
    for (const CachePlan& plan : side->stages)
      for (const SpecPlan& spec : plan.specs)
        if (spec.attention)
          for (const std::int64_t layer : spec.layers) {
            const std::int64_t tokens = spec.live_tokens(request.tokens);
            auto [at, fresh] = live.emplace(std::pair(spec.draft, layer), tokens);
            if (!fresh) at->second = std::min(at->second, tokens);
          }
  const auto elements = [&](const TransferSide& side, const RequestTables& tables) {
    return LiveElements(side, tables, request.present_tokens, request.tokens, live).elements;
  };
  const std::vector<LiveElement> read = elements(map.from(), request.from);
  const std::vector<LiveElement> written = elements(map.to(), request.to);
  std::map<ByteAddress, const LiveElement*> read_at, written_at, source_of;
  for (const LiveElement& element : read) read_at.emplace(element.at, &element);
  for (const LiveElement& element : written) written_at.emplace(element.at, &element);
  for (const RankCopies& pair : list.pairs)
    for (const Copy& copy : pair.copies) {
      const bool converts = copy.bytes != copy.to_bytes;
      std::int64_t from = copy.from;
      for (std::int64_t to = copy.to; to < copy.to + copy.to_bytes;) {
        const ByteAddress into{pair.to_rank, copy.to_pool, to}, out_of{pair.from_rank, copy.from_pool, from};
        const auto target = written_at.find(into);
        if (target == written_at.end()) return "a byte is written where nothing of the request is";
        const auto source = read_at.find(out_of);
        if (source == read_at.end()) return "a byte is read where nothing of the request is";
        if (target->second->what != source->second->what) return "an element comes from another one";
        if (!converts && target->second->bytes != source->second->bytes) return "sizes differ without conversion";
        if (!source_of.emplace(into, source->second).second) return "an element is written twice";
        to += target->second->bytes;
        from += source->second->bytes;
      }
      if (from != copy.from + copy.bytes) return "a run reads another number of bytes than it writes";
    }
  if (source_of.size() != written.size()) return "an element is not written";
  *num_breaks = count_breaks(written, source_of, list);
  return "";
}

/// Bytes that the list writes of each content, wherever the runs begin that hold them.
std::vector<std::int64_t> written_of(const CopyList& list) {
  std::vector<std::int64_t> bytes(list.contents.size());
  const auto of = [&](std::int32_t content) -> std::int64_t& { return bytes[static_cast<std::size_t>(content)]; };
  for (const RankCopies& pair : list.pairs) {
    for (const Copy& copy : pair.copies) of(copy.content) += copy.to_bytes;
    for (const JoinedBytes& joined : pair.joined) {
      of(joined.begins_with) -= joined.to_bytes;
      of(joined.content) += joined.to_bytes;
    }
  }
  return bytes;
}

TEST_CASE("law: copies write every live element of the destination once, from the same element, in the fewest runs") {
  PairCounts counts;
  std::int64_t most = 0, converted = 0;
  CHECK(check_times("transfer covers", 2500, [&] {
    const std::optional<RandomPair> pair = random_pair(counts);
    if (!pair) RC_DISCARD("refused");
    const CopyList list = pair->map.list(pair->request);
    std::int64_t breaks = 0;
    const std::string fault = fault_of(pair->map, pair->request, list, &breaks);
    if (!fault.empty()) std::cerr << fault << std::endl;
    RC_ASSERT(fault == "");
    RC_ASSERT(list.descriptors() == breaks);
    // Where no rank keeps what another one has, every content moves once; else at least.
    const std::vector<std::int64_t> moved = written_of(list);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      RC_ASSERT(moved[i] >= list.contents[i].unique_bytes);
      if (list.written_bytes() == list.unique_bytes()) RC_ASSERT(moved[i] == list.contents[i].unique_bytes);
    }
    most = std::max(most, breaks);
    converted += std::any_of(list.contents.begin(), list.contents.end(),
                             [](const Content& content) { return content.converts(); });
  }));
  CHECK(counts.refused < 10'000);
  std::cerr << "  " << counts.refused << " pairs refused, at most " << most << " runs, " << converted << " converted";
  for (const auto& [what, times] : counts.of) std::cerr << ", " << times << " " << what;
  std::cerr << std::endl;
  for (const auto& [what, times] : counts.of) CHECK_MESSAGE(times >= 100, what);
  CHECK(converted >= 100);
}

TEST_CASE("law: a list with a fault is told from one without") {
  PairCounts counts;
  int found = 0, planted = 0;
  CHECK(check_times("transfer faults", 300, [&] {
    const std::optional<RandomPair> pair = random_pair(counts);
    if (!pair) RC_DISCARD("refused");
    CopyList list = pair->map.list(pair->request);
    if (list.pairs.empty()) RC_DISCARD("nothing moves");
    RankCopies& of = list.pairs[static_cast<std::size_t>(*rc::gen::inRange<std::int64_t>(0, std::ssize(list.pairs)))];
    const std::int64_t which = *rc::gen::inRange<std::int64_t>(0, std::ssize(of.copies));
    Copy& copy = of.copies[static_cast<std::size_t>(which)];
    switch (planted % 5) {
      case 0: of.copies.pop_back(); break;
      case 1: of.copies.push_back(Copy(copy)); break;
      case 2: copy.from += 1; break;
      case 3: copy.to += 1; break;
      case 4: copy.bytes -= 1, copy.to_bytes -= 1; break;
    }
    std::int64_t breaks = 0;
    ++planted;
    found += fault_of(pair->map, pair->request, list, &breaks) != "";
  }));
  CHECK(found == planted);
}

}  // namespace
}  // namespace hybridkv
