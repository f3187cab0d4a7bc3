#include "simulator/fleet/fleet_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"

namespace hybridkv {

namespace {

void check(const FleetSpec& spec) {
  if (spec.replicas < 1 || spec.replicas > most_replicas)
    throw SpecError("fleet.replicas", fmt::format("is a number from 1 to {}, not {}", most_replicas, spec.replicas));
  if (std::ssize(spec.slowness) > spec.replicas)
    throw SpecError("fleet.slow", fmt::format("names {} replicas of {}", spec.slowness.size(), spec.replicas));
  if (spec.decode == DecodeSpec{}) return;
  if (spec.decode.replicas < 1 || spec.decode.replicas > most_replicas)
    throw SpecError("fleet.decode_replicas", fmt::format("is a number from 1 to {}, not {}", most_replicas,
                                                spec.decode.replicas));
  if (!(spec.decode.link_bytes_per_second > 0)) throw SpecError("fleet.link_bandwidth", "must be above 0");
  if (!spec.replica.driver.clock) throw SpecError("fleet.decode_replicas", "caches are handed over by a clock only");
  if (!spec.outages.empty()) throw SpecError("fleet.down", "replicas that hand their caches over do not fail here");
}

void check_outages(const FleetSpec& spec) {
  if (spec.outages.empty()) return;
  if (spec.replica.driver.kind != DriverKind::open_loop)
    throw SpecError("fleet.down", "replicas fail at times, which only an open loop has");
  for (const Outage& outage : spec.outages) {
    if (outage.replica < 0 || outage.replica >= spec.replicas)
      throw SpecError("fleet.down", fmt::format("there is no replica {}, they are 0 to {}", outage.replica,
                                                   spec.replicas - 1));
    if (!(outage.from >= 0 && outage.until > outage.from))
      throw SpecError("fleet.down", fmt::format("replica {} cannot be down from {} to {} s", outage.replica,
                                                   outage.from, outage.until));
    // At the start of each: who is down then?
    std::set<std::int64_t> down;
    for (const Outage& other : spec.outages)
      if (other.from <= outage.from && outage.from < other.until) down.insert(other.replica);
    if (std::ssize(down) == spec.replicas)
      throw SpecError("fleet.down", fmt::format("at {} s no replica is left to send requests to", outage.from));
  }
}

struct EndedRequest {
  RequestStatus status = RequestStatus::ok;
  std::int64_t index = 0, prompt = 0, found = 0;
};

EndedRequest ended_of(const RecordView& view) {
  return std::visit(
      [](const auto* record) {
        return EndedRequest{record->status, record->index, record->input_length, record->hit_tokens};
      },
      view);
}

}  // namespace

double most_over_mean(std::span<const std::int64_t> counts) {
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (sum == 0) return 1;
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) * static_cast<double>(counts.size()) /
         static_cast<double>(sum);
}

FleetReplay::FleetReplay(const FleetSpec& spec) : spec_(spec) {
  check(spec);
  check_outages(spec);
  computed_.resize(static_cast<std::size_t>(spec.replicas));
  if (spec.replica.driver.clock) {
    times_.emplace(spec.replica.driver.limits);
    running_.resize(computed_.size());
  }
  std::vector<CacheReplica*> all;
  std::vector<Replica*> driven;
  for (std::size_t place = 0; place < computed_.size(); ++place) {
    replicas_.push_back(make(place));
    all.push_back(replicas_.back().get());
    driven.push_back(&all.back()->replica());
  }
  if (spec.decode.replicas > 0) {
    decode_ = std::make_unique<DecodePool>(spec.replica.driver, spec.decode);
    decode_->on_served = [this](const RequestTimes& times) { times_->add(times); };
    for (std::size_t place = 0; place < decode_->size(); ++place) driven.push_back(&decode_->replica(place));
  }
  router_ = std::make_unique<Router>(spec.router, spec.replica.cache, all);
  routing_.block_tokens = router_->block_tokens();
  routing_.believes = router_->block_tokens() > 0;
  routing_.drops_events = router_->drops_events();
  trace_ = std::make_unique<TraceDriver>(
      spec.replica.driver, std::move(driven),
      [this](const TraceRequest& request, std::span<const TokenRun> prompt, double now) {
        return route(request, prompt, now);
      });
  if (decode_) decode_->join(*trace_, replicas_.size());
  for (const Outage& outage : spec.outages) {
    const auto place = static_cast<std::size_t>(outage.replica);
    trace_->at(outage.from, [this, place](double now) { fail(place, now); });
    if (outage.until < std::numeric_limits<double>::infinity())
      trace_->at(outage.until, [this, place](double) { router_->set_up(place, true); });
  }
}

std::unique_ptr<CacheReplica> FleetReplay::make(std::size_t place) {
  SimulationSpec one = spec_.replica;
  one.on_event = {};
  if (place < spec_.slowness.size()) one.driver.slowness = spec_.slowness[place];
  one.on_record = [this, place](const RecordView& view, const ReuseLoss* loss) { record(place, view, loss); };
  std::unique_ptr<CacheReplica> replica = make_replica(one);
  if (times_)
    replica->replica().on_served = [this, place](const RequestTimes& times) {
      running_[place] += std::llround((times.end - times.admitted) * 1e6);
      if (!decode_ || !decode_->prompt_done(times)) times_->add(times);
    };
  return replica;
}

void FleetReplay::consume(const TraceBatch& batch) {
  if (!decode_) return trace_->consume(batch);
  TraceBatch prompts = batch;
  for (TraceRequest& request : prompts.requests) request = decode_->prompt_of(request);
  trace_->consume(prompts);
}

std::size_t FleetReplay::route(const TraceRequest& request, std::span<const TokenRun> prompt, double now) {
  const Routing routing = router_->choose(request, prompt, now);
  Given& given = given_[request.index];
  given.routing = routing;
  if (!spec_.outages.empty()) given.held = {request, {prompt.begin(), prompt.end()}};
  return routing.replica;
}

void FleetReplay::fail(std::size_t place, double now) {
  router_->set_up(place, false);
  failed_.push_back(std::exchange(replicas_[place], make(place)));
  trace_->replace(place, replicas_[place]->replica());
  router_->replace(place, *replicas_[place]);
  std::vector<HeldRequest> lost;
  for (const auto& [index, given] : given_)
    if (given.routing.replica == place) lost.push_back(given.held);
  for (const HeldRequest& one : lost) {
    ++resent_;
    resent_tokens_ += one.request.input_length;
    trace_->give_again(one.request, one.prompt, now);
  }
}

void FleetReplay::record(std::size_t replica, const RecordView& view, const ReuseLoss* loss) {
  const EndedRequest one = ended_of(view);
  const std::int64_t believed = given_.extract(one.index).mapped().routing.believed_tokens;
  if (one.status == RequestStatus::ok) {
    computed_[replica] += one.prompt - one.found;
    if (spec_.on_served) spec_.on_served({one.index, static_cast<std::int64_t>(replica), one.prompt, one.found});
    if (routing_.believes) {
      routing_.believed_tokens += believed;
      routing_.overstated_tokens += std::max<std::int64_t>(0, believed - one.found);
      routing_.unseen_tokens += std::max<std::int64_t>(0, one.found - believed);
    }
  }
  if (spec_.replica.on_record) spec_.replica.on_record(view, loss);
}

FleetResult FleetReplay::result() {
  FleetResult result;
  result.resent = resent_;
  result.times = times_;
  result.routing = routing_;
  result.computed_tokens = computed_;
  result.running_microseconds = running_;
  std::unordered_set<PrefixKey> contents;
  for (const auto& replica : replicas_) {
    const Scheduler* const scheduler = replica->blocks();
    if (scheduler == nullptr) continue;
    if (!result.blocks) result.blocks.emplace();
    for (const BlockArena& pool : scheduler->cache().pools())
      for (std::int64_t block = 1; block < pool.num_known(); ++block) {
        const PrefixKey key = pool.key(static_cast<BlockId>(block));
        if (key == 0) continue;
        ++result.blocks->findable;
        if (!contents.insert(key).second) ++result.blocks->repeated;
      }
  }
  for (const auto* const replicas : {&replicas_, &failed_})
    for (const auto& replica : *replicas) {
      result.replicas.push_back(replica->result());
      result.counts += counts_of(result.replicas.back().index);
      if (result.times && result.replicas.back().times)
        result.times->add_steps(result.replicas.back().times->spent(), 1);
    }
  if (decode_) {
    result.handed_over = decode_->handed_over();
    result.times->add_steps(decode_->spent(), 1);
  }
  // Who failed took them in too.
  result.counts.requests -= resent_;
  result.counts.taken_prompt_tokens -= resent_tokens_;
  return result;
}

}  // namespace hybridkv
