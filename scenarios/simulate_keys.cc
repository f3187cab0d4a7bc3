#include "scenarios/simulate_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/input_file.h"
#include "scenarios/engine_words.h"
#include "scenarios/fleet_keys.h"
#include "scenarios/key_builders.h"
#include "scenarios/spelled_at.h"

namespace hybridkv {

namespace {

/// A distribution as the scenario writes it: by name, its parameters by theirs.
struct DistributionText {
  Distribution::Kind kind = Distribution::Kind::constant;
  std::int64_t value = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  double mean = 0;
  double median = 0;
  double sigma = 0;
  std::int64_t least = Distribution{}.least;
  std::int64_t most = Distribution{}.most;
};

constexpr const char* all_parameters[] = {"value", "from", "to", "mean", "median", "sigma"};

std::vector<std::string> parameters_of(Distribution::Kind kind) {
  switch (kind) {
    case Distribution::Kind::constant: return {"value"};
    case Distribution::Kind::uniform: return {"from", "to"};
    case Distribution::Kind::geometric: return {"mean"};
    case Distribution::Kind::lognormal: return {"median", "sigma"};
  }
  return {};
}

/// A distribution has its own parameters, all of them, and no other's.
void check_distribution(const std::string& path, const YamlNode& node, const DistributionText& text) {
  const std::vector<std::string> own = parameters_of(text.kind);
  const auto takes = [&] { return fmt::format("{} takes {}", to_string(text.kind), fmt::join(own, " and ")); };
  for (const char* name : all_parameters) {
    const bool is_own = std::find(own.begin(), own.end(), name) != own.end();
    if (const YamlNode* value = node.find(name); value && !is_own)
      throw error_at(value->key_place, fmt::format("{}: {}, not {}", path, takes(), name));
    if (is_own && !node.find(name))
      throw error_at(node.key_place, fmt::format("{}: key '{}' is missing: {}", path, name, takes()));
  }
  if (text.from > text.to)
    throw error_at(node.find("to")->place, fmt::format("{}.to: {} is below from, {}", path, text.to, text.from));
  if (text.least > text.most)
    throw error_at(node.key_place, fmt::format("{}: least, {}, is above most, {}", path, text.least, text.most));
}

/// A number of tokens, turns or documents that a distribution may be limited to.
KeyInfo bound(std::string name, std::string doc, std::int64_t minimum = 1) {
  KeyInfo info = amount(std::move(name), std::move(doc), minimum);
  info.maximum = Distribution{}.most;
  return info;
}

const Section<DistributionText>& distribution_keys() {
  static const Section<DistributionText> section = [] {
    Section<DistributionText> keys("a distribution", "whole numbers drawn at random");
    keys.choice(with_choices(required(key("distribution", "constant (value), uniform (from .. to, both included), "
                                                          "geometric (mean, from 1 upwards) or lognormal (median, "
                                                          "sigma)")),
                             names_of(distribution_names)),
                &DistributionText::kind, parse_distribution_kind)
        .integer(bound("value", "constant: the number", 0), &DistributionText::value)
        .integer(bound("from", "uniform: the smallest number", 0), &DistributionText::from)
        .integer(bound("to", "uniform: the largest number", 0), &DistributionText::to)
        .number(key("mean", "geometric: the mean, at least 1"), &DistributionText::mean)
        .number(key("median", "lognormal: the median"), &DistributionText::median)
        .number(key("sigma", "lognormal: standard deviation of the logarithm"), &DistributionText::sigma)
        .integer(bound("least", "smaller numbers are raised to it; default 1"), &DistributionText::least)
        .integer(bound("most", "larger numbers are cut down to it; default: none are"), &DistributionText::most)
        .check(check_distribution);
    return keys;
  }();
  return section;
}

Distribution distribution_of(const DistributionText& text) {
  Distribution distribution{.kind = text.kind, .least = text.least, .most = text.most};
  switch (text.kind) {
    case Distribution::Kind::constant: distribution.a = static_cast<double>(text.value); break;
    case Distribution::Kind::uniform:
      distribution.a = static_cast<double>(text.from);
      distribution.b = static_cast<double>(text.to);
      break;
    case Distribution::Kind::geometric: distribution.a = text.mean; break;
    case Distribution::Kind::lognormal:
      distribution.a = text.median;
      distribution.b = text.sigma;
      break;
  }
  return distribution;
}

void add_distribution(Section<SyntheticTraceSpec>& keys, KeyInfo info, Distribution SyntheticTraceSpec::*field) {
  info.type = ValueType::section;
  info.section = &distribution_keys().info();
  keys.add(std::move(info), [field](ReadContext& context, const std::string& path, const YamlNode& node,
                                    SyntheticTraceSpec& spec) {
    DistributionText text;
    distribution_keys().read(context, path, node, text);
    spec.*field = distribution_of(text);
  });
}

/// What sessions are made of. Defaults in the docs are those of SyntheticTraceSpec, which a test compares.
void add_lengths(Section<SyntheticTraceSpec>& keys) {
  const auto add = [&](const char* name, const char* doc, Distribution SyntheticTraceSpec::*field) {
    add_distribution(keys, key(name, doc), field);
  };
  add("system_tokens", "system prompts of chats and questions; default lognormal, median 700, sigma 0.7, 16 .. 16384",
      &SyntheticTraceSpec::system_tokens);
  add("agent_system_tokens", "system prompts of agent loops; default lognormal, median 3000, sigma 0.5, 16 .. 32768",
      &SyntheticTraceSpec::agent_system_tokens);
  add("chat_turns", "turns of a chat; default geometric, mean 4, at most 60", &SyntheticTraceSpec::chat_turns);
  add("user_tokens", "a user's message or question; default lognormal, median 80, sigma 1.1, at most 32768",
      &SyntheticTraceSpec::user_tokens);
  add("answer_tokens", "an answer; default lognormal, median 250, sigma 0.8, at most 4096",
      &SyntheticTraceSpec::answer_tokens);
  add("agent_steps", "steps of an agent loop; default geometric, mean 12, at most 200",
      &SyntheticTraceSpec::agent_steps);
  add("tool_tokens", "a tool's result; default lognormal, median 400, sigma 1.1, at most 32768",
      &SyntheticTraceSpec::tool_tokens);
  add("action_tokens", "what an agent writes in one step; default lognormal, median 100, sigma 0.7, at most 4096",
      &SyntheticTraceSpec::action_tokens);
  add("documents_per_question", "documents behind one question; default uniform, 2 .. 6",
      &SyntheticTraceSpec::documents_per_question);
  add("document_tokens", "a document; default lognormal, median 600, sigma 0.5, 16 .. 8192",
      &SyntheticTraceSpec::document_tokens);
}

const Section<SyntheticTraceSpec>& synthetic_keys() {
  static const Section<SyntheticTraceSpec> section = [] {
    using Spec = SyntheticTraceSpec;
    Section<Spec> keys("simulate.trace.synthetic", "a made-up trace of chats, agent loops and questions over "
                                                   "documents; the defaults are plausible, not measured");
    keys.integer(count("seed", "the same seed gives the same requests; default 1", 0), &Spec::seed)
        .number(key("sessions_per_second", "new chats, loops and questions together; default 2"),
                &Spec::sessions_per_second)
        .number(key("chat_weight", "share of chats among the sessions; default 0.6"), &Spec::chat_weight)
        .number(key("agent_weight", "share of agent loops; default 0.25"), &Spec::agent_weight)
        .number(key("retrieval_weight", "share of questions over documents; default 0.15"), &Spec::retrieval_weight)
        .integer(count("num_system_prompts", "different system prompts of each of the three kinds; default 20"),
                 &Spec::num_system_prompts)
        .integer(count("num_documents", "different documents; default 5000"), &Spec::num_documents)
        .number(key("popularity_skew", "Zipf exponent by which some system prompts and documents are taken more often "
                                       "than others; 0: all alike; default 1"),
                &Spec::popularity_skew);
    add_lengths(keys);
    keys.number(key("chat_pause_seconds", "mean time between the turns of a chat, exponential; default 45"),
                &Spec::chat_pause_seconds)
        .number(key("agent_pause_seconds", "mean time between the steps of a loop, exponential; default 6"),
                &Spec::agent_pause_seconds)
        .integer(tokens("max_prompt_tokens", "a session ends before its prompt grows beyond; default 131072"),
                 &Spec::max_prompt_tokens);
    return keys;
  }();
  return section;
}

const Section<PromptSpec>& prompt_keys() {
  static const Section<PromptSpec> section = [] {
    Section<PromptSpec> keys("simulate.trace.prompts", "one prompt and the requests that have it");
    keys.integer(required(tokens("tokens", "length of the prompt")), &PromptSpec::tokens)
        .integer(amount("copies", "requests with this very prompt, one after the other; default 1"),
                 &PromptSpec::copies)
        .integer(amount("variants", "prompts of this kind that differ behind the shared tokens; default 1"),
                 &PromptSpec::variants)
        .integer(tokens("shared_tokens", "its first tokens are those of an earlier prompt; default 0", 0),
                 &PromptSpec::shared_tokens)
        .integer(amount("shared_with", "number of that prompt in the list, from 1; default 1"),
                 &PromptSpec::shared_with)
        .integer(tokens("output_tokens", "tokens each request generates, for drivers that decode; default 0", 0),
                 &PromptSpec::output_tokens);
    return keys;
  }();
  return section;
}

void check_trace(const std::string& path, const YamlNode& node, const TraceSpec&) {
  const YamlNode* first = nullptr;
  const char* first_name = "";
  for (const char* name : {"file", "prompts", "synthetic"}) {
    const YamlNode* value = node.find(name);
    if (value && first)
      throw error_at(spelled_at(*value),
                     fmt::format("{}: {} and {} name two traces; leave one out", path, first_name, name));
    if (value) {
      first = value;
      first_name = name;
    }
  }
  for (const char* name : {"form", "skip_bad_lines"})
    if (const YamlNode* value = node.find(name); value && !node.find("file"))
      throw error_at(value->key_place, fmt::format("{}.{}: goes with a trace file, and no file is given", path, name));
}

const Section<TraceSpec>& trace_keys() {
  static const Section<TraceSpec> section = [] {
    Section<TraceSpec> keys("simulate.trace", "the requests to replay: a file, prompts written out, or a made-up "
                                              "trace; default: a made-up one");
    KeyInfo file = key("file", "a trace in any of the forms, also .gz or .zst, found from the folder of the "
                               "scenario; \"-\" is standard input");
    keys.add(file, [](ReadContext&, const std::string& path, const YamlNode& node, TraceSpec& spec) {
      const std::string written = read_text(path, node);
      const std::filesystem::path directory = node.place.text->directory;
      spec.file = written == standard_input ? written : (directory / written).lexically_normal().string();
      // A file of that name is no standard input.
      if (spec.file == standard_input && written != standard_input) spec.file = std::string("./") + standard_input;
    });
    keys.choice(with_choices(key("form", "how the file writes its requests (docs/traces.md); default: by the fields of "
                                         "the first line"),
                             names_of(trace_form_names)),
                &TraceSpec::form, parse_trace_form)
        .flag(key("skip_bad_lines", "count damaged lines of the file instead of stopping at the first; default false"),
              &TraceSpec::skip_bad_lines)
        .sections(key("prompts", "prompts in the order in which they come"), &TraceSpec::prompts, prompt_keys())
        .section(key("synthetic", ""), &TraceSpec::synthetic, synthetic_keys())
        .integer(amount("max_requests", "only the first requests of the trace; default: all, of a made-up one 10000"),
                 &TraceSpec::max_requests)
        .check(check_trace);
    return keys;
  }();
  return section;
}

/// A file that a value names, from the folder of the scenario.
std::string file_at(const std::string& path, const YamlNode& node) {
  const std::filesystem::path directory = node.place.text->directory;
  return (directory / read_text(path, node)).lexically_normal().string();
}

const Section<TimedQuestion>& clock_keys() {
  using Question = TimedQuestion;
  static const Section<Question> section = [] {
    Section<Question> keys("simulate.clock", "the machine by whose clock the driver goes, in place of the cost "
                                             "(docs/clock.md)");
    KeyInfo gpu = required(key("gpu", "its GPU, H200, B200 …"));
    gpu.sweepable = true;
    keys.add(gpu, [](ReadContext&, const std::string& path, const YamlNode& node, Question& question) {
      question.served.gpu = read_text(path, node);
    });
    keys.integer_by(count("gpus", "of a replica, which share the routed experts; default: as many as ranks"),
                    [](Question& question, std::int64_t value) { question.served.gpus = value; });
    keys.add(key("calibrated", "a file of hybridkv calibrate in place of the engine's clock, found from the folder of "
                               "the scenario"),
             [](ReadContext&, const std::string& path, const YamlNode& node, Question& question) {
               question.served.file = file_at(path, node);
             });
    keys.number_by(key("ttft_seconds", "limit of the first token; default: none"),
                   [](Question& question, double value) { question.limits.first_token = value; })
        .number_by(key("tpot_seconds", "limit of each further token; default: none"),
                   [](Question& question, double value) { question.limits.output_token = value; })
        .number(key("rate", "open loop: requests come so many times as fast as the trace says; default 1"),
                &Question::rate)
        .number(key("price_per_gpu_hour", "of a GPU, for the price of a million tokens; default: none"),
                &Question::price_per_gpu_hour)
        .check([](const std::string& path, const YamlNode& node, const Question& question) {
          constexpr double least = 1e-6, most = 1e6;
          if (question.rate < least || question.rate > most)
            fail_at(node.find("rate")->place, "{}.rate: is from {:g} to {:g}", path, least, most);
        });
    return keys;
  }();
  return section;
}

const Section<CostModel>& cost_keys() {
  static const Section<CostModel> section = [] {
    Section<CostModel> keys("simulate.cost", "seconds that a step takes, linear in what it does; the defaults are of "
                                             "no machine in particular");
    keys.number(key("per_prefill_token", "of each prompt token computed; default 5e-5"), &CostModel::per_prefill_token)
        .number(key("per_decode_step", "of a step in which at least one request decodes; default 0.02"),
                &CostModel::per_decode_step)
        .number(key("per_copied_state", "of each state copied, per recurrent group; default 1e-5"),
                &CostModel::per_copied_state);
    return keys;
  }();
  return section;
}

void add_driver_keys(Section<SimulateRequest>& keys) {
  KeyInfo driver = with_choices(
      key("driver", "how requests come: one_at_a_time (prefill only, as replays of engines did; the default), "
                    "closed_loop (in_flight of them) or open_loop (by timestamps)"),
      names_of(driver_kind_names));
  driver.synonyms = {{"one-at-a-time", "one_at_a_time"}, {"closed-loop", "closed_loop"}, {"open-loop", "open_loop"}};
  keys.choice_by(std::move(driver), [](SimulateRequest& request, const std::string& word) {
    request.driver.kind = parse_driver_kind(word).value();
  });
  keys.integer_by(count("in_flight", "closed loop: requests waiting and running together; default 64"),
                  [](SimulateRequest& request, std::int64_t value) { request.driver.in_flight = value; });
  keys.number_by(key("think_seconds", "closed loop: seconds from the end of a request to the next one of that user, so "
                                      "that in_flight counts users; default 0"),
                 [](SimulateRequest& request, double value) { request.driver.think_seconds = value; });
  KeyInfo cost = key("cost", cost_keys().info().doc);
  cost.type = ValueType::section;
  cost.section = &cost_keys().info();
  keys.add(cost, [](ReadContext& context, const std::string& path, const YamlNode& node, SimulateRequest& request) {
    cost_keys().read(context, path, node, request.driver.cost);
  });
  keys.section(key("clock", ""), &SimulateRequest::clock, clock_keys());
  keys.section(key("fleet", ""), &SimulateRequest::fleet, fleet_keys());
}

void add_eviction_key(Section<SimulateRequest>& keys) {
  KeyInfo eviction = with_choices(
      key("eviction", "what goes first where memory is short: lru (the block unused for longest, as in engines; the "
                      "default), or whole prefixes by prefixes, cost, frequency, second_chance, time_to_live or worth"),
      names_of(eviction_policy_names));
  eviction.synonyms = {{"second-chance", "second_chance"}, {"time-to-live", "time_to_live"}};
  keys.choice_by(std::move(eviction), [](SimulateRequest& request, const std::string& word) {
    request.scheduler.eviction = parse_eviction_policy(word).value();
  });
}

void add_host_keys(Section<SimulateRequest>& keys) {
  keys.size(sets(key("host_memory", "memory of the host behind the pools, from which blocks that went are loaded back; "
                                    "default none"),
                 {"host_memory_bytes"}),
            &SimulateRequest::host_memory_bytes)
      .number_by(key("host_state_share", "share of it for states alone, 0 to 1; default: whatever was used last stays"),
                 [](SimulateRequest& request, double value) { request.host_state_share = value; })
      .number_by(key("host_bandwidth", "GB a second at which what lies on the host is loaded; default 50"),
                 [](SimulateRequest& request, double value) { request.driver.host_bytes_per_second = value * 1e9; });
  KeyInfo write = with_choices(key("host_write", "when a block is copied there: on eviction (the default), or "
                                                 "write_through as soon as it can be found"),
                               names_of(host_write_names));
  write.synonyms = {{"write-through", "write_through"}};
  keys.choice(std::move(write), &SimulateRequest::host_write, parse_host_write);
}

}  // namespace

const SectionInfo& distribution_section() { return distribution_keys().info(); }

const Section<SimulateRequest>& simulate_keys() {
  static const Section<SimulateRequest> section = [] {
    using Request = SimulateRequest;
    Section<Request> keys("simulate", "what `hybridkv simulate` replays, and how");
    keys.section(key("trace", ""), &Request::trace, trace_keys());
    add_driver_keys(keys);
    add_eviction_key(keys);
    add_host_keys(keys);
    keys.flag(key("upper_bounds",
                  "also say what any policy could find, what a pool that never evicts, and any prefix; default false"),
              &Request::upper_bounds)
        .flag(key("losses", "also book every token that is computed again although an earlier prompt began with it to "
                            "its cause; default false"),
              &Request::losses)
        .flag_by(key("branch_point", "cache mode align: end the first chunk where attention alone matched, so that the "
                                  "branch point gets a checkpoint; default true"),
              [](Request& request, bool value) { request.scheduler.branch_point = value; })
        .integer(tokens("retention_interval_tokens",
                        fmt::format("keep checkpoints at multiples of it, at the last boundary of a prompt and at "
                                    "branch points; 0: only the latter two; default: all are kept, {} 0",
                                    engines_with([](const EngineRules& rules) { return rules.retention_tokens == 0; })),
                        0),
                 &Request::retention_interval_tokens)
        .flag(key("keep_all_checkpoints", "keep every checkpoint, where the release keeps only the last of a prompt; "
                                          "default false"),
              &Request::keeps_all_checkpoints)
        .integer_by(count("checkpoint_back", "cache mode align: keep the last state of a prompt so many checkpoints "
                                             "before its last boundary; default 0",
                          0),
                    [](Request& request, std::int64_t value) { request.scheduler.checkpoint_back = value; })
        .integer(tokens("match_unit_tokens", "find prefixes at multiples of it, a divisor of the block; default: the "
                                             "block"),
                 &Request::match_unit_tokens)
        .integer_by(count("max_num_seqs", "most running requests; default 256"),
                    [](Request& request, std::int64_t value) { request.scheduler.max_num_seqs = value; })
        .integer_by(count("max_num_active_seqs", "of those, how many are admitted to run; default: all"),
                    [](Request& request, std::int64_t value) { request.scheduler.max_num_active_seqs = value; })
        .number_by(key("acceptance", "the chance that the next draft of engine.speculative_tokens is right where those "
                                     "before it are, 0 to 1: what engines log as the acceptance rate of the first "
                                     "position; default 0: none ever comes true"),
                   [](Request& request, double value) { request.scheduler.acceptance = value; })
        .number_by(key("watermark", "share of the pool kept free when a request is admitted beside others, below 1; "
                                 "default 0"),
                [](Request& request, double value) { request.scheduler.watermark = value; })
        .integer_by(sets(tokens("long_prefill_threshold_tokens", "most tokens of one prompt in a step; default 0: no "
                                                              "limit",
                             0),
                      {"long_prefill_threshold"}),
                 [](Request& request, std::int64_t value) { request.scheduler.long_prefill_threshold = value; })
        .flag_by(key("long_prefill_threshold_adaptive",
                     "that limit is no less than the tokens of a step over the requests that run or wait, "
                     "where the engine can do so; default false"),
                 [](Request& request, bool value) { request.scheduler.long_prefill_threshold_adaptive = value; });
    return keys;
  }();
  return section;
}

}  // namespace hybridkv
