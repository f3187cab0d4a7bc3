#include "ask/start/run_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "planner/plan_facts.h"

namespace hybridkv {

namespace {

constexpr double full_percent = 95;  ///< from here on memory is called full

/// "99.1 % (line 20)".
std::string largest_text(const RunFigure& figure) {
  return fmt::format("{:.1f} % (line {})", figure.largest, figure.largest_line);
}

std::string whole_text(double value) { return human_count(static_cast<std::int64_t>(std::llround(value))); }

class RunReader {
 public:
  explicit RunReader(const ServedCache& served)
      : served_(served), run_(served.log.run),
        geometry_(served.cache ? std::get_if<CacheGeometry>(served.cache) : nullptr) {}

  std::vector<RunReason> reasons() {
    if (run_.empty()) return {};
    explain_hits();
    explain_memory();
    explain_waiting();
    guess();
    return std::move(reasons_);
  }

  std::vector<std::string> contradictions() {
    if (run_.empty()) return {};
    for (const RunKey key : {RunKey::kv_usage, RunKey::state_usage, RunKey::hit_rate, RunKey::external_hits})
      if (const auto& figure = run_.find(key); figure && figure->largest > 100)
        cannot_be(key, figure->largest, figure->largest_line, "it is a share");
    check_running();
    check_hits();
    check_usage();
    return std::move(found_);
  }

 private:
  void add(const char* code, std::string text, bool is_certain = true) {
    reasons_.push_back({code, std::move(text), is_certain});
  }
  void cannot_be(RunKey key, double value, std::int64_t line, const std::string& why) {
    found_.push_back(fmt::format("{} {} (line {}) cannot be: {}", to_string(key), value, line, why));
  }

  bool is_off() const {
    const auto& caching = served_.log.find(LogKey::prefix_caching);
    return caching && caching->text == "False";
  }
  bool finds_prefixes() const { return !is_off() && (!geometry_ || geometry_->caches_prefixes()); }
  bool is_full() const {
    return run_.most(RunKey::kv_usage).value_or(0) >= full_percent ||
           run_.most(RunKey::state_usage).value_or(0) >= full_percent;
  }
  bool says_hits() const { return run_.find(RunKey::hit_rate) || run_.hit_rate_since_start(); }
  /// Is the plan as large as the cache of the log, and its length that of the log?
  bool has_size() const { return (served_.num_blocks || served_.is_sized_by_settings) && served_.length > 0; }
  /// "it holds 52.92 requests of 32,768 tokens".
  std::string room_text() const {
    if (!has_size()) return "how many requests fit, the log does not say";
    return fmt::format("it holds {:.2f} requests of {} tokens", served_.plan.capacity.front().max_concurrency,
                       human_count(served_.length));
  }

  void explain_hits() {
    if (is_off()) {
      add("caching_off", fmt::format("prefix caching is off (line {}): nothing is looked up, and nothing is found",
                                     served_.log.find(LogKey::prefix_caching)->line));
      return;
    }
    if (!geometry_) {
      explain_kept_states();
      return;
    }
    if (!geometry_->caches_prefixes()) {
      add("mode_none", std::string(geometry_->why_no_prefixes()));
      return;
    }
    const std::int64_t step = hit_step(*geometry_), hopeless = longest_hopeless_prompt(*geometry_);
    add("match_unit",
        fmt::format("a prefix is found again only at whole multiples of {} tokens{}: a prompt of {} tokens or fewer "
                    "finds nothing, and of what a longer one shares up to {} are computed again", human_count(step),
                    geometry_->drafter_drops_block ? ", and the drafter drops the last one" : "", human_count(hopeless),
                    human_count(hopeless - 1)));
    if (run_.prompts) explain_prompts(*run_.prompts, hopeless);
  }

  /// The same of an engine whose prefixes are not found block by block.
  void explain_kept_states() {
    const PrefixPlan& prefix = served_.plan.prefix;
    if (!says_hits()) return;
    if (!prefix.cacheable)
      add("mode_none", "with these settings nothing is kept of a prompt that another one could begin with");
    else if (prefix.match_unit_tokens > 1 && prefix.min_cacheable_prefix_tokens)
      add("match_unit",
          fmt::format("states are kept, and prefixes found again, at multiples of {} tokens: prompts that share fewer "
                      "than {} find nothing", human_count(prefix.match_unit_tokens),
                      human_count(*prefix.min_cacheable_prefix_tokens)));
  }

  void explain_prompts(const PromptLengths& prompts, std::int64_t hopeless) {
    const PromptLengths::Bucket* last = nullptr;
    for (const PromptLengths::Bucket& bucket : prompts.buckets)
      if (bucket.at_most_tokens <= static_cast<double>(hopeless)) last = &bucket;
    if (last == nullptr || last->requests == 0) return;
    add("short_prompts",
        fmt::format("{} of {} finished requests had prompts of at most {} tokens (line {}), which find nothing{}",
                    human_count(last->requests), human_count(prompts.requests), whole_text(last->at_most_tokens),
                    prompts.line, last->requests == prompts.requests ? ": that alone is why" : ""));
  }

  void explain_memory() {
    if (const auto& preempted = run_.find(RunKey::preemptions); preempted && preempted->last > 0)
      add("preempted", fmt::format("{} (line {}): memory was full, and what they had computed was given up",
                                   preempted->last == 1 ? "1 request was preempted"
                                                        : whole_text(preempted->last) + " requests were preempted",
                                   preempted->last_line));
    const auto& usage = run_.find(RunKey::kv_usage);
    if (usage && usage->largest >= full_percent) {
      std::string left;
      if (served_.num_blocks && geometry_) {
        const auto blocks = static_cast<double>(*served_.num_blocks - 1);
        left = fmt::format(": about {} of {} blocks were left for prefixes of requests that had ended",
                           whole_text(blocks * std::max(0.0, 100 - usage->largest) / 100), whole_text(blocks));
      }
      add("memory_full", fmt::format("running requests held up to {} of the memory{}; {}", largest_text(*usage), left,
                                     room_text()));
    }
    if (const auto& states = run_.find(RunKey::state_usage); states && states->largest >= full_percent)
      add("states_full", fmt::format("running requests held up to {} of the states: prefixes lose theirs first",
                                     largest_text(*states)));
  }

  void explain_waiting() {
    const auto& waiting = run_.find(RunKey::waiting);
    if (!waiting || waiting->largest <= 0) return;
    const auto places = served_.log.whole(LogKey::max_num_seqs);
    const auto& running = run_.find(RunKey::running);
    const std::string who = fmt::format("up to {} requests waited (line {})", whole_text(waiting->largest),
                                        waiting->largest_line);
    if (is_full())
      add("waits_for_memory", fmt::format("{}, and memory was full: {}", who, room_text()));
    else if (places && running && !run_.is_of_several && running->largest >= static_cast<double>(*places))
      add("waits_for_place",
          fmt::format("{}, and as many ran as max_num_seqs allows, {} (line {}): they waited for a place, not for "
                      "memory, of which {} was held", who, human_count(*places),
                      served_.log.find(LogKey::max_num_seqs)->line,
                      run_.find(RunKey::kv_usage) ? largest_text(*run_.find(RunKey::kv_usage)) : "less"));
    else
      add("waits_for_step",
          fmt::format("{} though memory was not full: prompts queue for the tokens of a step "
                      "(max_num_batched_tokens), or they came all at once", who), false);
  }

  /// What figures allow and do not prove.
  void guess() {
    if (!finds_prefixes() || !says_hits()) return;
    const auto& usage = run_.find(RunKey::kv_usage);
    const auto& prompt = run_.find(RunKey::prompt_rate);
    const auto& generated = run_.find(RunKey::generation_rate);
    if (usage && !is_full() && prompt && generated && has_size()) {
      const double rate = prompt->largest + generated->largest;
      const double tokens = static_cast<double>(served_.plan.capacity.front().kv_cache_tokens) *
                            std::max(0.0, 100 - usage->largest) / 100;
      if (rate > 0 && tokens > 0)
        add("overwritten",
            fmt::format("what has ended stays until it is overwritten: the {} tokens beside running requests are "
                        "written anew in about {} s where {} tokens are computed and generated a second (lines {} and "
                        "{}), and a prefix that comes back later is gone", whole_text(tokens),
                        whole_text(tokens / rate), whole_text(rate), prompt->largest_line, generated->largest_line),
            false);
    }
    if (is_full() || (run_.find(RunKey::preemptions) && run_.find(RunKey::preemptions)->last > 0) || !usage) return;
    add("not_repeated",
        fmt::format("running requests never held more than {} of the memory: what is not found does not repeat, ends "
                    "before the next multiple, or came back too late{}", largest_text(*usage),
                    served_.has_trace ? "" : "; --trace FILE tells which"), false);
  }

  void check_running() {
    const auto& running = run_.find(RunKey::running);
    if (!running || run_.is_of_several) return;
    if (const auto places = served_.log.whole(LogKey::max_num_seqs);
        places && running->largest > static_cast<double>(*places)) {
      cannot_be(RunKey::running, running->largest, running->largest_line,
                fmt::format("max_num_seqs allows {} (line {})", human_count(*places),
                            served_.log.find(LogKey::max_num_seqs)->line));
      return;
    }
    if (served_.plan.tree_pools && running->largest > static_cast<double>(served_.plan.tree_pools->split.max_running))
      cannot_be(RunKey::running, running->largest, running->largest_line,
                fmt::format("states and tokens allow {}", human_count(served_.plan.tree_pools->split.max_running)));
    const std::int64_t most = served_.plan.max_running_requests;
    if (served_.num_blocks && geometry_ && running->largest > static_cast<double>(most))
      cannot_be(RunKey::running, running->largest, running->largest_line,
                fmt::format("memory holds {} requests of one token", human_count(most)));
  }

  void check_hits() {
    const auto& rate = run_.find(RunKey::hit_rate);
    const auto& hits = run_.find(RunKey::hit_tokens);
    const auto& queried = run_.find(RunKey::queried_tokens);
    if (hits && queried && hits->last > queried->last)
      cannot_be(RunKey::hit_tokens, hits->last, hits->last_line,
                fmt::format("only {} were looked up", whole_text(queried->last)));
    if (!geometry_) return;
    if (!finds_prefixes()) {
      const std::string why = is_off() ? "prefix caching is off" : std::string(geometry_->why_no_prefixes());
      if (rate && rate->largest > 0) cannot_be(RunKey::hit_rate, rate->largest, rate->largest_line, why);
      if (hits && hits->last > 0) cannot_be(RunKey::hit_tokens, hits->last, hits->last_line, why);
      return;
    }
    const std::int64_t step = hit_step(*geometry_);
    if (hits && std::fmod(hits->last, static_cast<double>(step)) != 0)
      cannot_be(RunKey::hit_tokens, hits->last, hits->last_line,
                fmt::format("every hit is a multiple of {} tokens", human_count(step)));
  }

  /// Usage is a number of blocks over all but the null block, so that few blocks leave gaps between its values.
  void check_usage() {
    const auto& usage = run_.find(RunKey::kv_usage);
    if (!usage || !geometry_ || !served_.num_blocks || run_.is_of_several || run_.page_line > 0) return;
    const auto blocks = static_cast<double>(*served_.num_blocks - 1);
    if (blocks < 1 || usage->largest > 100) return;
    const double nearest = 100 * std::round(usage->largest * blocks / 100) / blocks;
    constexpr double last_digit = 0.1;
    if (std::abs(nearest - usage->largest) > last_digit / 2 + 1e-6)
      cannot_be(RunKey::kv_usage, usage->largest, usage->largest_line,
                fmt::format("it is a number of {} blocks, and the nearest is {:.1f}", whole_text(blocks), nearest));
  }

  const ServedCache& served_;
  const RunLog& run_;
  const CacheGeometry* geometry_ = nullptr;
  std::vector<RunReason> reasons_;
  std::vector<std::string> found_;
};

}  // namespace

std::int64_t hit_step(const CacheGeometry& geometry) {
  return geometry.has_state_blocks() ? geometry.resume_step() : geometry.attention_step();
}

std::int64_t longest_hopeless_prompt(const CacheGeometry& geometry) {
  return hit_step(geometry) * (geometry.drafter_drops_block ? 2 : 1);
}

std::vector<RunReason> run_reasons(const ServedCache& served) { return RunReader(served).reasons(); }

std::vector<std::string> run_contradictions(const ServedCache& served) { return RunReader(served).contradictions(); }

}  // namespace hybridkv
