#include "simulator/fleet/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "simulator/blocks/block_rules.h"

namespace hybridkv {

namespace {

/// Smallest block that llm-d's approximate index counts in (minBlockSizeTokens).
constexpr std::int64_t least_approximate_block = 64;

EventReading reading_of(RouterKind kind) {
  if (kind == RouterKind::sparse) return EventReading::sparse;
  return kind == RouterKind::states ? EventReading::states : EventReading::attention;
}

}  // namespace

Router::Router(const RouterSettings& settings, const AnyCache& cache, const std::vector<CacheReplica*>& replicas)
    : settings_(settings),
      replicas_(replicas),
      random_(settings.seed),
      sessions_(settings.session_tokens),
      up_(replicas.size(), true),
      given_(replicas.size()),
      matched_(replicas.size()) {
  check_router(settings);
  const auto* const blocks = std::get_if<CacheGeometry>(&cache);
  const std::int64_t unit = blocks != nullptr ? blocks->match_unit() : 1;
  if (hears_events(settings.kind)) {
    if (blocks == nullptr)
      throw SpecError("fleet.router", fmt::format("{} hears events of pools of blocks, which {} does not have; take "
                                                 "approximate or gateway", to_string(settings.kind), name_of(cache)));
    block_ = unit;
    event_block_ = static_cast<std::size_t>(event_block(*blocks) / unit);
    lookahead_ = blocks->rules.blocks->lookahead_tokens(*blocks);
    drops_events_ = settings.block_tokens && *settings.block_tokens != event_block(*blocks);
    if (drops_events_) return;
    heard_.resize(replicas_.size());
    for (std::size_t place = 0; place < replicas_.size(); ++place) replace(place, *replicas_[place]);
  } else if (settings.kind == RouterKind::approximate || settings.kind == RouterKind::gateway) {
    block_ = settings.block_tokens.value_or(std::max(unit, least_approximate_block));
    for (std::size_t place = 0; place < replicas_.size(); ++place) sent_.emplace_back(settings.lru_blocks);
  }
}

void Router::replace(std::size_t place, CacheReplica& replica) {
  replicas_[place] = &replica;
  if (!sent_.empty()) sent_[place] = SentPrompts(settings_.lru_blocks);
  if (heard_.empty()) return;
  heard_[place] = std::make_unique<HeardKeys>(
      replica.blocks()->cache(), reading_of(settings_.kind), settings_.delay_seconds,
      [&here = replica.replica()] { return here.now(); }, before_);
  replica.blocks()->tell(*heard_[place]);
}

std::size_t Router::by_hash(std::uint64_t hash) const {
  auto place = static_cast<std::size_t>(hash % replicas_.size());
  while (!up_[place]) place = (place + 1) % replicas_.size();
  return place;
}

template <class Number>
std::size_t Router::least(Number&& number) const {
  std::size_t best = by_hash(0);
  for (std::size_t other = best + 1; other < replicas_.size(); ++other)
    if (up_[other] && std::tuple(number(other), given_[other]) < std::tuple(number(best), given_[best])) best = other;
  return best;
}

std::int64_t Router::in_flight(std::size_t place) const { return replicas_[place]->replica().num_in_flight(); }

std::size_t Router::least_busy() const {
  return least([this](std::size_t place) { return in_flight(place); });
}

std::size_t Router::busiest() const {
  return least([this](std::size_t place) { return -in_flight(place); });
}

bool Router::is_busy(std::size_t replica) const {
  const std::int64_t fewest = in_flight(least_busy()), own = in_flight(replica);
  return own - fewest > settings_.busy_requests &&
         static_cast<double>(own) > settings_.busy_ratio * static_cast<double>(fewest);
}

std::size_t Router::sticky(std::uint64_t session) {
  const auto home = homes_.find(session);
  if (home != homes_.end() && up_[home->second] && !is_busy(home->second)) return home->second;
  return homes_[session] = least_busy();
}

void Router::match(const TraceRequest& request, std::span<const TokenRun> prompt, double now) {
  std::fill(matched_.begin(), matched_.end(), 0);
  if (block_ == 0 || drops_events_) return;
  prefix_keys(prompt, block_, keys_, lookahead_);
  if (settings_.kind == RouterKind::sparse) learn();
  if (!sent_.empty())
    keys_.resize(std::min(keys_.size(), static_cast<std::size_t>(settings_.most_matched_tokens / block_)));
  for (std::size_t replica = 0; replica < replicas_.size(); ++replica)
    matched_[replica] = heard_.empty() ? sent_[replica].match(keys_) * block_
                                       : heard_[replica]->match(keys_, request.input_length, now);
}

void Router::learn() {
  PrefixKey before = 0;
  for (std::size_t end = event_block_; end <= keys_.size(); end += event_block_)
    before_.emplace(keys_[end - 1], std::exchange(before, keys_[end - 1]));
}

std::size_t Router::by_scores(std::int64_t prompt_tokens) const {
  const std::int64_t fewest = in_flight(least_busy()), most = in_flight(busiest());
  return least([&](std::size_t at) {
    const double idle = most > fewest ? static_cast<double>(most - in_flight(at)) /
                                            static_cast<double>(most - fewest)
                                      : 1;
    return -(settings_.prefix_weight * static_cast<double>(matched_[at]) / static_cast<double>(prompt_tokens) +
             settings_.queue_weight * idle + settings_.usage_weight * (1 - replicas_[at]->replica().usage()));
  });
}

std::size_t Router::by_gateway(std::int64_t prompt_tokens) const {
  const std::size_t best = least([this](std::size_t replica) { return -matched_[replica]; });
  const std::size_t idlest = least_busy();
  if (is_busy(busiest())) return idlest;
  const double share = static_cast<double>(matched_[best]) / static_cast<double>(prompt_tokens);
  if (share > settings_.least_match) return best;
  return least([this](std::size_t replica) { return sent_[replica].size(); });
}

std::size_t Router::pick(const TraceRequest& request, std::span<const TokenRun> prompt) {
  switch (settings_.kind) {
    case RouterKind::round_robin: return least([](std::size_t) { return 0; });
    case RouterKind::random: return by_hash(random_());
    case RouterKind::least_requests:
      return least_busy();
    case RouterKind::least_tokens:
      return least([this](std::size_t replica) { return replicas_[replica]->replica().waiting_tokens(); });
    case RouterKind::session: return by_hash(sessions_.of(request, prompt));
    case RouterKind::sticky: return sticky(sessions_.of(request, prompt));
    case RouterKind::gateway: return by_gateway(request.input_length);
    case RouterKind::approximate:
    case RouterKind::precise:
    case RouterKind::sparse:
    case RouterKind::states: return by_scores(request.input_length);
  }
  return 0;
}

Routing Router::choose(const TraceRequest& request, std::span<const TokenRun> prompt, double now) {
  match(request, prompt, now);
  const std::size_t replica = pick(request, prompt);
  ++given_[replica];
  if (!sent_.empty()) sent_[replica].add(keys_);
  return {replica, matched_[replica]};
}

}  // namespace hybridkv
