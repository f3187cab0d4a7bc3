#include "verify/transfer/transfer_proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/random.h"
#include "base/resident_budget.h"
#include "verify/transfer/continued_layers.h"
#include "verify/transfer/transfer_continue.h"
#include "verify/transfer/transfer_memory.h"
#include "verify/transfer/transfer_plant.h"
#include "verify/transfer/transfer_run.h"
#include "verify/transfer/unmoved_outputs.h"

namespace hybridkv {

namespace {

constexpr std::array transfer_check_table{
    TransferCheckInfo{"descriptors", "every descriptor lies in its pools, together they write what is live"},
    TransferCheckInfo{"kv-moved", "every K and V at the destination is what belongs there"},
    TransferCheckInfo{"states-moved", "every state at the destination is what belongs there"},
    TransferCheckInfo{"untouched", "no other byte of the destination's pools changed"},
    TransferCheckInfo{"states-continued", "recurrent layers go on at the destination as at the source"},
    TransferCheckInfo{"attention-continued", "attention of a decoded token is that at the source"},
};
enum TransferCheck { descriptors, kv_moved, states_moved, untouched, states_continued, attention_continued };

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Largest error of one rounding of values within 1: half of what neighbours below 1 lie apart.
double largest_rounding(DType dtype) {
  switch (dtype) {
    case DType::fp16: return 0x1p-12;
    case DType::bf16: return 0x1p-9;
    case DType::fp8_e4m3: return 0x1p-5;
    case DType::fp8_e5m2: return 0x1p-4;
    default: return 0;
  }
}

/// Ids that nobody holds, by arena: for one more token, for the fault, and one more to watch.
std::vector<std::int64_t> num_free_ids(const CachePlan& plan, std::int64_t tokens,
                                       const std::optional<TransferFault>& fault) {
  std::vector<std::int64_t> count(plan.arenas.size(), 1);
  const std::vector<std::int64_t> next = next_free_ids(plan, tokens);
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    std::int64_t& of_arena = count[plan.groups[group].arena.index()];
    of_arena = std::max(of_arena, next[group] + 2);
  }
  for (std::size_t arena = 0; arena < count.size(); ++arena)
    if (fault) count[arena] += free_ids_of_fault(*fault, plan, ArenaId{static_cast<std::int64_t>(arena)});
  return count;
}

std::vector<HeldPages> pages_of_stages(const TransferSide& side, const RequestTables& tables, std::int64_t tokens,
                                           const std::optional<TransferFault>& fault) {
  std::vector<HeldPages> pages;
  for (std::size_t stage = 0; stage < side.stages.size(); ++stage)
    pages.push_back(transfer_pages(side.stages[stage], tables.ids[stage],
                                   num_free_ids(side.stages[stage], tokens, fault)));
  return pages;
}

std::int64_t largest_bytes(std::span<const HeldPages> pages) {
  std::int64_t bytes = 0;
  for (const HeldPages& of : pages) bytes = std::max(bytes, of.bytes());
  return bytes;
}

std::int64_t reserved_bytes(const TransferSide& side) {
  Checked bytes = 0;
  for (const CachePlan& plan : side.stages) bytes += Checked(plan.pool_bytes()) * side.tensor_parallel;
  return bytes;
}

/// One proof as it goes on.
class TransferRun {
 public:
  TransferRun(const TransferMap& map, const TransferRequest& request, const TransferProofSpec& spec,
              const TransferProofProgress& progress)
      : map_(map),
        request_(request),
        spec_(spec),
        progress_(progress),
        ranks_(map.from(), map.to(), request.from, request.to, request.tokens),
        from_(ranks_.from),
        to_(ranks_.to),
        from_pages_(pages_of_stages(map.from(), request.from, request.tokens, spec.fault)),
        to_pages_(pages_of_stages(map.to(), request.to, request.tokens, spec.fault)),
        types_(element_types(from_)),
        to_types_(element_types(to_)) {}

  TransferProof prove() {
    const auto start = std::chrono::steady_clock::now();
    for (const TransferCheckInfo& info : transfer_check_table)
      proof_.checks.push_back({.name = std::string(info.name)});
    proof_.fault = spec_.fault;
    proof_.reserved_bytes = Checked(reserved_bytes(map_.from())) + reserved_bytes(map_.to());
    const std::int64_t budget_bytes = source_budget();
    ContinuedLayers layers;
    if (spec_.continued_tokens > 0) layers = continued_layers(to_, spec_.continued_layers);
    continuation_ = {mix(spec_.seed, 1), request_.tokens, spec_.continued_tokens, layers.names, &types_,
                     &to_types_};
    proof_.continued = continued_text(layers, spec_.continued_tokens);
    const auto before_list = std::chrono::steady_clock::now();
    CopyList list = map_.list(request_);
    proof_.list_seconds = seconds_since(before_list);
    proof_.descriptors = list.descriptors();
    proof_.moved_bytes = list.moved_bytes();
    proof_.written_bytes = list.written_bytes();
    if (plant(list)) run(list, budget_bytes);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    proof_.peak_process_bytes = usage.ru_maxrss * 1024;
    proof_.seconds = seconds_since(start);
    return std::move(proof_);
  }

 private:
  CheckResult& check(TransferCheck which) { return proof_.checks[which]; }

  /// What is left for sources beside a destination. Throws where a pair of ranks is too large.
  std::int64_t source_budget() const {
    const ResidentBudget budget =
        spec_.resident_budget_bytes ? ResidentBudget(*spec_.resident_budget_bytes) : ResidentBudget();
    const std::int64_t from = largest_bytes(from_pages_), to = largest_bytes(to_pages_);
    budget.require(Checked(from) + to, fmt::format("the proof of a transfer of {} tokens, one rank of each side at a "
                                                   "time", request_.tokens));
    return budget.limit_bytes() - to;
  }

  /// False: the fault has no place.
  bool plant(CopyList& list) {
    if (!spec_.fault) return true;
    const PlantContext context{from_,           to_, from_pages_, to_pages_, request_.tokens, request_.present_tokens,
                               continuation_};
    planted_ = plant_transfer_fault(*spec_.fault, context, list);
    proof_.planted = planted_.where;
    proof_.no_place = planted_.no_place;
    if (!planted_.no_place.empty()) {
      proof_.checks.clear();
      return false;
    }
    if (spec_.until_caught) leave_out_layers();
    return true;
  }

  /// Only the layer that goes on from a wrong place has to; it is none where another check owns the fault.
  void leave_out_layers() {
    std::erase_if(continuation_.layers, [&](const ModelTensor& name) {
      return !planted_.stale || name.kind != planted_.stale->tensor.kind ||
             name.layer != planted_.stale->tensor.layer || name.draft != planted_.stale->tensor.draft;
    });
    proof_.continued = continuation_.layers.empty() ? "" : continuation_.layers.begin()->text();
  }

  /// Destination ranks that are looked at.
  std::vector<const TransferRank*> destinations() const {
    std::vector<const TransferRank*> ranks;
    for (const TransferRank& rank : to_)
      if (!spec_.fault || !spec_.until_caught || rank.number == planted_.to_rank) ranks.push_back(&rank);
    return ranks;
  }

  void leave_out(std::size_t first_check, const std::string& why) {
    for (std::size_t i = first_check; i < proof_.checks.size(); ++i) {
      proof_.checks[i].status = CheckStatus::not_run;
      proof_.checks[i].message = why;
    }
  }

  void run(const CopyList& list, std::int64_t budget_bytes) {
    const DescriptorCheck look = check_descriptors(list, from_, to_, request_.present_tokens);
    check(descriptors).add(look.result);
    check(descriptors).unit = look.result.unit;
    if (!look.is_safe) return leave_out(1, "not run: a descriptor leaves its pool, so nothing was copied");
    if (spec_.until_caught && proof_.caught()) return leave_out(1, "not run: the fault was found before");
    const TransferTraffic traffic{spec_.seed, types_};
    TransferMemory sources(from_, from_pages_, budget_bytes, traffic, planted_.older);
    const auto work = works_of(list);
    const std::vector<const TransferRank*> looked_at = destinations();
    num_steps_ = static_cast<int>(looked_at.size() + (continuation_.layers.empty() ? 0 : from_.size()));
    for (const TransferRank* rank : looked_at)
      for (const RankCopies* pair : work[static_cast<std::size_t>(rank->number)]) ++reads_left_[pair->from_rank];
    std::unique_ptr<RankMemory> memory;
    for (const TransferRank* of : looked_at) {
      const TransferRank& rank = *of;
      step(fmt::format("destination rank {}", rank.number));
      const HeldPages& pages = to_pages_[static_cast<std::size_t>(rank.number / rank.ranks)];
      // What a rank leaves is canaries again, and so ready for the next of its stage; unless it was found otherwise.
      if (!memory || &memory->pages != &pages || check(untouched).status == CheckStatus::failed) {
        memory.reset();  // before the next is made
        memory = std::make_unique<RankMemory>(rank, pages, CanarySide::to);
      }
      memory->rank = &rank;
      move_to(*memory, work[static_cast<std::size_t>(rank.number)], list.contents, sources, traffic);
    }
    memory.reset();
    if (!continuation_.layers.empty())
      for (const TransferRank& source : from_)  // whom nobody reads, as others keep the same heads
        if (!gone_on_.contains(source.number)) {
          get(sources, source.number);
          sources.release(source.number);
        }
    for (const auto& [rank, outputs] : moved_)
      unmoved_.compare(outputs, *rank, traffic, check(states_continued), check(attention_continued));
    finish();
  }

  void step(const std::string& what) {
    if (progress_) progress_(what, done_++, num_steps_);
  }

  /// By destination rank what is copied to it, of the list first.
  std::vector<std::vector<const RankCopies*>> works_of(const CopyList& list) const {
    std::vector<std::vector<const RankCopies*>> works(to_.size());
    for (const RankCopies& pair : list.pairs) works[static_cast<std::size_t>(pair.to_rank)].push_back(&pair);
    for (const RankCopies& pair : planted_.overwrites) works[static_cast<std::size_t>(pair.to_rank)].push_back(&pair);
    return works;
  }

  /// A source in memory; where layers go on, those of it have once.
  const RankMemory& get(TransferMemory& sources, std::int64_t rank) {
    const RankMemory& memory = sources.get(rank);
    if (continuation_.layers.empty() || !gone_on_.insert(rank).second) return memory;
    step(fmt::format("source rank {}", rank));
    const RankOutputs outputs = continue_rank(memory, continuation_);
    without_room_ += outputs.without_room;
    unmoved_.add(outputs);
    return memory;
  }

  void move_to(const RankMemory& memory, std::span<const RankCopies* const> work, std::span<const Content> contents,
               TransferMemory& sources, const TransferTraffic& traffic) {
    const TransferRank& rank = *memory.rank;
    write_tokens(memory, traffic, 0, request_.present_tokens);
    for (const RankCopies* pair : work) {
      const RankMemory& source = get(sources, pair->from_rank);
      const auto start = std::chrono::steady_clock::now();
      run_copies(source, memory, pair->copies, contents);
      proof_.copy_seconds += seconds_since(start);
      if (--reads_left_[pair->from_rank] == 0) sources.release(pair->from_rank);
    }
    proof_.resident_bytes =
        std::max(proof_.resident_bytes, sources.resident_bytes() + memory.pools.resident_bytes());
    if (!continuation_.layers.empty()) {
      RankOutputs outputs = continue_rank(memory, continuation_, planted_.stale);
      without_room_ += outputs.without_room;
      if (!outputs.declined.empty()) declined_ = outputs.declined;
      for (const AttentionBackend backend : outputs.backends) backends_.insert(to_string(backend));
      moved_.emplace_back(&rank, std::move(outputs));
    }
    add(check(kv_moved), take_tokens(memory, traffic));
    add(check(states_moved), take_states(memory, traffic));
    CheckResult rest = check_canaries(*rank.plan, memory.pools, memory.pages, CanarySide::to, memory.who());
    rest.count -= rank.live_bytes(0);
    add(check(untouched), rest);
    note_rounding(rank);
  }

  static void add(CheckResult& check, const CheckResult& part) {
    check.add(part);
    check.unit = part.unit;
  }

  /// What is allowed where elements became those of another type.
  void note_rounding(const TransferRank& rank) {
    const auto note = [&](TransferCheck which, const ModelTensor& name, DType kept) {
      const auto source = types_.find(name);
      if (source != types_.end() && source->second != kept)
        check(which).tolerance = std::max(check(which).tolerance, largest_rounding(kept));
    };
    for (const RankTokens& tokens : rank.tokens) note(kv_moved, tokens.name, tokens.attention().dtype);
    for (const RankState& state : rank.states) note(states_moved, state.name, state.dtype());
  }

  /// What had nothing to look at says so.
  void finish() {
    const auto decline = [&](TransferCheck which, std::string why) {
      CheckResult& of = check(which);
      if (of.count > 0 || of.status == CheckStatus::failed) return;
      of.status = CheckStatus::declined;
      of.message = std::move(why);
    };
    if (unmoved_.rounding_error() > 0 && check(states_continued).status == CheckStatus::passed)
      check(states_continued).message =
          fmt::format("equal to a source whose states are rounded alike; rounding changed outputs by up to {:.2g}",
                      unmoved_.rounding_error());
    check(states_continued).unit = check(attention_continued).unit = "outputs";
    const bool continues = !continuation_.layers.empty();
    decline(kv_moved, "no layer keeps K and V");
    decline(states_moved, "no layer keeps a state");
    decline(states_continued, continues ? "no recurrent layer goes on" : "nothing goes on");
    std::string why = continues ? "no attention layer goes on" : "nothing goes on";
    if (!declined_.empty()) why = declined_;
    if (without_room_ > 0) why = "no id is free for one more token";
    decline(attention_continued, std::move(why));
    CheckResult& attention = check(attention_continued);
    if (attention.status != CheckStatus::passed) return;
    if (!declined_.empty()) attention.message = fmt::format("through {}: {}", fmt::join(backends_, " and "), declined_);
    if (without_room_ > 0) attention.message = "layers left out have no id free for one more token";
  }

  const TransferMap& map_;
  const TransferRequest& request_;
  const TransferProofSpec& spec_;
  const TransferProofProgress& progress_;
  const TransferRanks ranks_;
  const std::vector<TransferRank>&from_, &to_;
  const std::vector<HeldPages> from_pages_, to_pages_;  // (stage)
  const ElementTypes types_, to_types_;
  Continuation continuation_;
  PlantedTransfer planted_;
  UnmovedOutputs unmoved_;
  std::map<std::int64_t, std::int64_t> reads_left_;                 // by source rank
  std::set<std::int64_t> gone_on_;                                  // source ranks
  std::vector<std::pair<const TransferRank*, RankOutputs>> moved_;  // of destinations
  int num_steps_ = 0, done_ = 0;
  std::int64_t without_room_ = 0;
  std::string declined_;
  std::set<std::string_view> backends_;
  TransferProof proof_;
};

}  // namespace

bool TransferProof::passed() const {
  return !fault && no_place.empty() && std::all_of(checks.begin(), checks.end(), [](const CheckResult& check) {
    return check.status == CheckStatus::passed || check.status == CheckStatus::declined;
  });
}

bool TransferProof::caught() const {
  return fault && std::any_of(checks.begin(), checks.end(), [&](const CheckResult& check) {
    return check.name == info_of(*fault).found_by && check.status == CheckStatus::failed;
  });
}

const CheckResult* TransferProof::first_failure() const {
  const auto failed = std::find_if(checks.begin(), checks.end(),
                                   [](const CheckResult& check) { return check.status == CheckStatus::failed; });
  return failed == checks.end() ? nullptr : &*failed;
}

std::span<const TransferCheckInfo> transfer_checks() { return transfer_check_table; }

TransferProof prove_transfer(const TransferMap& map, const TransferRequest& request, const TransferProofSpec& spec,
                             const TransferProofProgress& progress) {
  for (const TransferSide* side : {&map.from(), &map.to()})
    for (const CachePlan& plan : side->stages) require_views(plan);
  return TransferRun(map, request, spec, progress).prove();
}

}  // namespace hybridkv
