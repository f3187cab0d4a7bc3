#include "simulator/trace/synthetic_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <queue>
#include <random>

#include "base/error.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_texts = 10'000'000;  // system prompts or documents: each is kept
constexpr std::int64_t most_documents = 100'000;  // behind one question
constexpr double longest_pause_seconds = 1e9;
constexpr double largest_skew = 100;

/// Random numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double exponential(double mean) { return -mean * std::log1p(-unit()); }

  std::int64_t draw(const Distribution& from) {
    double value = from.a;
    switch (from.kind) {
      case Distribution::Kind::constant: break;
      case Distribution::Kind::uniform: value = std::floor(from.a + unit() * (from.b - from.a + 1)); break;
      case Distribution::Kind::geometric:
        value = from.a <= 1 ? 1 : 1 + std::floor(std::log1p(-unit()) / std::log1p(-1 / from.a));
        break;
      case Distribution::Kind::lognormal: {
        const double radius = std::sqrt(-2 * std::log1p(-unit()));
        value = std::round(from.a * std::exp(from.b * radius * std::cos(2 * std::numbers::pi * unit())));
        break;
      }
    }
    return static_cast<std::int64_t>(
        std::clamp(value, static_cast<double>(from.least), static_cast<double>(from.most)));
  }

 private:
  std::mt19937_64 engine_;
};

/// Shared texts of one kind, the i-th with weight 1 / (i + 1)^skew.
class Library {
 public:
  Library(std::uint64_t first_id, std::int64_t count, double skew, const Distribution& tokens, Random& random)
      : first_id_(first_id) {
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      total += std::pow(static_cast<double>(i + 1), -skew);
      cumulative_.push_back(total);
      tokens_.push_back(random.draw(tokens));
    }
  }
  std::size_t pick(Random& random) const {
    const double wanted = random.unit() * cumulative_.back();
    const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), wanted) - cumulative_.begin();
    return std::min(static_cast<std::size_t>(at), cumulative_.size() - 1);
  }
  std::uint64_t id(std::size_t text) const { return first_id_ + text; }
  std::int64_t tokens(std::size_t text) const { return tokens_[text]; }

 private:
  std::uint64_t first_id_;
  std::vector<double> cumulative_;
  std::vector<std::int64_t> tokens_;
};

enum class SessionKind { chat, agent, retrieval };

struct Session {
  SessionKind kind = SessionKind::chat;
  std::vector<TokenRun> runs;
  std::int64_t turns_left = 0;
  std::int64_t turn = 0;
  std::int64_t last_request = -1;

  std::int64_t tokens() const { return runs.empty() ? 0 : runs.back().end_token; }
  void append(std::uint64_t id, std::int64_t count) {
    const std::uint64_t chain = runs.empty() ? empty_chain : runs.back().chain;
    runs.push_back({tokens() + count, extend_chain(chain, id, tokens())});
  }
};

void check(bool sound, const char* field, const std::string& message) {
  if (!sound) throw SpecError(fmt::format("trace.{}", field), message);
}

void check(const Distribution& d, const char* field) {
  check(d.least >= 1 && d.least <= d.most, field, fmt::format("needs 1 <= least <= most, has {} and {}", d.least,
                                                              d.most));
  check(d.most <= std::int64_t{1} << 40, field, fmt::format("most is {}, above 2^40", d.most));
  check(std::isfinite(d.a) && std::isfinite(d.b) && d.a >= 0 && d.b >= 0, field, "its parameters are numbers >= 0");
  // 0 times the infinity that a wide tail draws is no number.
  check(d.kind != Distribution::Kind::lognormal || d.a > 0, field, "the median of a lognormal must be above 0");
  check(d.kind != Distribution::Kind::uniform || d.a <= d.b, field, fmt::format("{} .. {} is no range", d.a, d.b));
}

/// The largest number that is drawn as a rule: of a distribution with a tail its mean or median, as its `most` only
/// cuts the tail.
double typical_most(const Distribution& d) {
  const double most = d.kind == Distribution::Kind::uniform ? d.b : d.a;
  return std::clamp(most, static_cast<double>(d.least), static_cast<double>(d.most));
}

void validate(const SyntheticTraceSpec& spec) {
  const auto at_least = [](double value, double least, const char* field) {
    check(std::isfinite(value) && value >= least, field, fmt::format("must be at least {}, is {}", least, value));
  };
  at_least(static_cast<double>(spec.num_requests), 0, "num_requests");
  at_least(spec.sessions_per_second, 1e-9, "sessions_per_second");
  at_least(spec.chat_weight, 0, "chat_weight");
  at_least(spec.agent_weight, 0, "agent_weight");
  at_least(spec.retrieval_weight, 0, "retrieval_weight");
  const double weights = spec.chat_weight + spec.agent_weight + spec.retrieval_weight;
  check(weights > 0, "chat_weight", "all weights are 0");
  check(std::isfinite(weights), "chat_weight", "the sum of the weights is too large for a number");
  at_least(static_cast<double>(spec.num_system_prompts), 1, "num_system_prompts");
  at_least(static_cast<double>(spec.num_documents), 1, "num_documents");
  at_least(spec.popularity_skew, 0, "popularity_skew");
  at_least(spec.chat_pause_seconds, 0, "chat_pause_seconds");
  at_least(spec.agent_pause_seconds, 0, "agent_pause_seconds");
  at_least(static_cast<double>(spec.max_prompt_tokens), 1, "max_prompt_tokens");
  const auto at_most = [](auto value, auto most, const char* field) {
    check(value <= most, field, fmt::format("must be at most {}, is {}", most, value));
  };
  at_most(spec.num_system_prompts, most_texts, "num_system_prompts");
  at_most(spec.num_documents, most_texts, "num_documents");
  at_most(spec.popularity_skew, largest_skew, "popularity_skew");
  at_most(spec.chat_pause_seconds, longest_pause_seconds, "chat_pause_seconds");
  at_most(spec.agent_pause_seconds, longest_pause_seconds, "agent_pause_seconds");
  at_most(spec.max_prompt_tokens, longest_made_up_prompt, "max_prompt_tokens");
  at_most(typical_most(spec.documents_per_question), static_cast<double>(most_documents), "documents_per_question");
  check(spec.system_tokens, "system_tokens");
  check(spec.agent_system_tokens, "agent_system_tokens");
  check(spec.chat_turns, "chat_turns");
  check(spec.user_tokens, "user_tokens");
  check(spec.answer_tokens, "answer_tokens");
  check(spec.agent_steps, "agent_steps");
  check(spec.tool_tokens, "tool_tokens");
  check(spec.action_tokens, "action_tokens");
  check(spec.documents_per_question, "documents_per_question");
  check(spec.document_tokens, "document_tokens");
}

}  // namespace

class SyntheticTrace::Generator {
 public:
  explicit Generator(const SyntheticTraceSpec& spec)
      : spec_(spec),
        random_(spec.seed),
        chat_systems_(1ULL << 48, spec.num_system_prompts, spec.popularity_skew, spec.system_tokens, random_),
        agent_systems_(2ULL << 48, spec.num_system_prompts, spec.popularity_skew, spec.agent_system_tokens, random_),
        retrieval_systems_(3ULL << 48, spec.num_system_prompts, spec.popularity_skew, spec.system_tokens, random_),
        documents_(4ULL << 48, spec.num_documents, spec.popularity_skew, spec.document_tokens, random_) {
    next_session_ = random_.exponential(1 / spec_.sessions_per_second);
  }

  bool next(TraceBatch& batch) {
    batch.clear();
    while (batch.requests.size() < batch_requests && requests_ < spec_.num_requests) {
      if (turns_.empty() || next_session_ <= turns_.top().seconds) {
        const double now = next_session_;
        next_session_ += random_.exponential(1 / spec_.sessions_per_second);
        take_turn(open_session(), now, batch);
      } else {
        const Turn turn = turns_.top();
        turns_.pop();
        take_turn(turn.session, turn.seconds, batch);
      }
    }
    return !batch.requests.empty();
  }

  TraceProgress progress() const {
    return {requests_, spec_.num_requests == 0
                           ? 1
                           : static_cast<double>(requests_) / static_cast<double>(spec_.num_requests)};
  }
  std::int64_t open_sessions() const { return std::ssize(sessions_) - std::ssize(closed_); }

 private:
  /// A session's next request. Equal times go by the order in which they were planned.
  struct Turn {
    double seconds;
    std::int64_t order;
    std::size_t session;
    bool operator>(const Turn& other) const {
      return seconds != other.seconds ? seconds > other.seconds : order > other.order;
    }
  };

  std::size_t open_session() {
    std::size_t place = sessions_.size();
    if (closed_.empty()) {
      sessions_.emplace_back();
    } else {
      place = closed_.back();
      closed_.pop_back();
    }
    Session& session = sessions_[place];
    session.runs.clear();
    session.turn = 0;
    session.last_request = -1;
    double share = random_.unit() * (spec_.chat_weight + spec_.agent_weight + spec_.retrieval_weight);
    if ((share -= spec_.chat_weight) < 0) {
      session.kind = SessionKind::chat;
      session.turns_left = random_.draw(spec_.chat_turns);
      append_text(session, chat_systems_);
    } else if ((share -= spec_.agent_weight) < 0) {
      session.kind = SessionKind::agent;
      session.turns_left = random_.draw(spec_.agent_steps);
      append_text(session, agent_systems_);
    } else {
      session.kind = SessionKind::retrieval;
      session.turns_left = 1;
      append_text(session, retrieval_systems_);
      // Beyond the longest prompt, where the session is cut, further documents change nothing.
      for (std::int64_t i = random_.draw(spec_.documents_per_question);
           i > 0 && session.tokens() <= spec_.max_prompt_tokens; --i)
        append_text(session, documents_);
    }
    return place;
  }

  void append_text(Session& session, const Library& library) {
    const std::size_t text = library.pick(random_);
    session.append(library.id(text), library.tokens(text));
  }

  // Emits the session's next request, and plans the one after it or closes the session.
  void take_turn(std::size_t place, double now, TraceBatch& batch) {
    Session& session = sessions_[place];
    const bool loop_step = session.kind == SessionKind::agent && session.turn > 0;
    session.append(next_own_id_++, random_.draw(loop_step ? spec_.tool_tokens : spec_.user_tokens));
    if (session.tokens() > spec_.max_prompt_tokens) {
      if (session.turn > 0) {
        closed_.push_back(place);
        return;
      }
      cut(session);
    }
    const bool agent = session.kind == SessionKind::agent;
    const std::int64_t answer = random_.draw(agent ? spec_.action_tokens : spec_.answer_tokens);
    emit(session, now, answer, batch);
    if (--session.turns_left == 0) {
      closed_.push_back(place);
      return;
    }
    session.append(next_own_id_++, answer);
    const double pause = random_.exponential(agent ? spec_.agent_pause_seconds : spec_.chat_pause_seconds);
    turns_.push({now + pause, turns_planned_++, place});
  }

  void cut(Session& session) const {
    while (session.runs.size() > 1 && session.runs[session.runs.size() - 2].end_token >= spec_.max_prompt_tokens)
      session.runs.pop_back();
    session.runs.back().end_token = spec_.max_prompt_tokens;
  }

  void emit(Session& session, double now, std::int64_t answer, TraceBatch& batch) {
    batch.requests.push_back({.index = requests_,
                              .arrival_seconds = now,
                              .input_length = session.tokens(),
                              .output_length = answer,
                              .chat_id = requests_,
                              .parent_chat_id = session.last_request,
                              .turn = ++session.turn,
                              .first_run = std::ssize(batch.runs),
                              .num_runs = std::ssize(session.runs)});
    batch.runs.insert(batch.runs.end(), session.runs.begin(), session.runs.end());
    session.last_request = requests_++;
  }

  SyntheticTraceSpec spec_;
  Random random_;
  Library chat_systems_, agent_systems_, retrieval_systems_, documents_;
  std::vector<Session> sessions_;
  std::vector<std::size_t> closed_;  // free places in sessions_
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  double next_session_ = 0;
  std::uint64_t next_own_id_ = 0;  // of texts that no other session has
  std::int64_t turns_planned_ = 0;
  std::int64_t requests_ = 0;
};

SyntheticTrace::SyntheticTrace(const SyntheticTraceSpec& spec) {
  validate(spec);
  generator_ = std::make_unique<Generator>(spec);
}
SyntheticTrace::~SyntheticTrace() = default;
bool SyntheticTrace::next(TraceBatch& batch) { return generator_->next(batch); }
TraceProgress SyntheticTrace::progress() const { return generator_->progress(); }
std::int64_t SyntheticTrace::open_sessions() const { return generator_->open_sessions(); }

}  // namespace hybridkv
