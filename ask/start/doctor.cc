#include "ask/start/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ask/asked_key.h"
#include "ask/plan.h"
#include "ask/replay/planned_caches.h"
#include "ask/start/doctor_change.h"
#include "ask/start/doctor_check.h"
#include "ask/start/doctor_replay.h"
#include "ask/start/doctor_settings.h"
#include "ask/start/start_failure.h"
#include "base/add_once.h"
#include "base/error.h"
#include "engines/engine.h"
#include "scenarios/model_library.h"

namespace hybridkv {

namespace {

constexpr const char* any_blocks = "1048576";  ///< for questions whose answer they do not change
constexpr const char* any_memory = "16 TiB";   ///< where settings say how large pools are

/// Gives a file the blocks that are known, or any; pools are sized by settings.
void set_size(ScenarioFile& file, const StartupLog& log, const std::optional<std::int64_t>& blocks) {
  if (log.is_of_pools() && !blocks) apply_override(file, "engine.memory", any_memory, from_log);
  else apply_override(file, "engine.num_blocks", blocks ? std::to_string(*blocks) : any_blocks, from_log);
}

/// The model of a file of weights, "models/Qwen3.5-4B-Q4_K_M.gguf": its name without what it says of their elements;
/// any other name as it is.
std::string name_of_weights(const std::string& name) {
  constexpr std::string_view ending = ".gguf";
  if (!name.ends_with(ending)) return name;
  const std::size_t folder = name.find_last_of("/\\");
  std::string rest = name.substr(folder == std::string::npos ? 0 : folder + 1);
  rest.resize(rest.size() - ending.size());
  for (std::string shorter = rest; !shorter.empty();) {
    if (find_shipped_model(shorter) != nullptr) return shorter;
    const std::size_t cut = shorter.find_last_of("-.");
    shorter.resize(cut == std::string::npos ? 0 : cut);
  }
  return rest;
}

/// A model's name as a cache folder of Hugging Face writes it, "…/models--Qwen--Qwen3.5-4B/snapshots/1a2b", taken
/// apart; else the name as it is.
std::string published_name(const std::string& name) {
  constexpr std::string_view before = "models--";
  const std::size_t begin = name.find(before);
  if (begin == std::string::npos) return name_of_weights(name);
  const std::string folder = name.substr(begin + before.size(), name.find('/', begin) - begin - before.size());
  const std::size_t organisation = folder.find("--");
  return organisation == std::string::npos ? folder : folder.substr(organisation + 2);
}

/// The first name of the log that a shipped model goes by. Throws InputError that says what to pass.
std::string model_of(const StartupLog& log, const std::string& log_name) {
  for (const std::string& name : log.models)
    if (find_shipped_model(published_name(name)) != nullptr) return published_name(name);
  if (log.models.empty())
    throw InputError(fmt::format("{} names no model; pass --model NAME (`hybridkv models` lists them), or --model FILE "
                                 "with a model file or a published config.json", log_name));
  const std::string named = published_name(log.models.front());
  throw InputError(fmt::format("{} is of the model '{}', which does not come with hybridkv{}; pass --model with its "
                               "config.json, its folder, or the name of a model with the same layers", log_name, named,
                               shipped_model_suggestion(named)));
}

void require_figures(const DoctorQuestion& question) {
  if (question.log.has_figure() || question.log.find(LogKey::failure)) return;
  if (!question.log.run.empty())
    throw InputError(fmt::format("{} says what its engine did as it served, but has no figure of its KV cache: they "
                                 "stand in the start of the same log; give the log from its first line on, or the "
                                 "start and these lines one behind the other (cat START LINES | hybridkv doctor -)",
                                 question.log_name));
  const std::string what = question.log.bytes == 0 ? "is empty" : fmt::format("has no figure of a KV cache in {} lines",
                                                                             question.log.lines);
  std::string lines;
  for (const LogTexts* const log : all_log_texts())
    lines += fmt::format("{} a start-up log of {} has lines like {}", lines.empty() ? ";" : ",", log->engine,
                         log->samples);
  throw InputError(fmt::format("{} {}{}: give the log from its first line on", question.log_name, what, lines));
}

/// Figures are those that an engine prints; of others nobody can say whether they would be the same.
void require_known_log(const DoctorQuestion& question, const Scenario& scenario) {
  const EngineRules& rules = *scenario.engine.rules;
  const LogTexts* const printed_by = question.log.printed_by;
  const auto explains = [&](const Engine& engine) {
    return engine.log != nullptr && (!printed_by || engine.log->texts == printed_by);
  };
  if (!is_asked(question.asked, "engine", "release") || explains(engine_of(rules))) return;
  std::vector<std::string_view> known;
  for (const Engine* const engine : all_engines())
    if (explains(*engine)) known.push_back(engine->rules->name);
  const std::string instead = fmt::format("figures like these are explained by {}: leave it out, and they are tried",
                                          fmt::join(known, " or "));
  if (engine_of(rules).log != nullptr)
    throw located(SpecError("engine.release", fmt::format("{} does not print such lines, {} does; {}", rules.title,
                                                          printed_by->engine, instead)),
                  scenario);
  throw located(not_known_of(rules, "what {} prints when it starts", instead), scenario);
}

/// The question with what the log says where the user says nothing.
ScenarioFile with_model(const DoctorQuestion& question) {
  ScenarioFile file = question.asked;
  if (!file.root.find("model"))
    apply_override(file, "model", yaml_quoted(model_of(question.log, question.log_name)), from_log);
  return file;
}

/// The longest length: the user's, that of the capacities, that of the configuration; 0: nobody says it.
std::int64_t length_of(const DoctorQuestion& question, const Scenario& scenario) {
  if (is_asked(question.asked, "limits", "max_model_len")) return scenario.limits.max_model_lens.front();
  for (const LogKey key : {LogKey::concurrency_length, LogKey::max_model_len})
    if (const auto length = question.log.whole(key); length && *length >= 1 && *length <= largest_tokens)
      return *length;
  return 0;
}

/// A scenario that needs no memory, because the figures say how many blocks there are.
Scenario base_scenario(ScenarioFile file, const StartupLog& log) {
  const bool has_size = is_asked(file, "engine", "num_blocks") || is_asked(file, "engine", "memory");
  if (!has_size) set_size(file, log, std::nullopt);
  if (!is_asked(file, "limits", "max_model_len")) apply_override(file, "limits.max_model_len", "1", from_log);
  return read_scenario(file);
}

/// What was tried, and how far it goes.
struct Tried {
  DoctorSettings settings;
  SettingsCheck check;
};

bool is_full(const SettingsCheck& check) { return check.explained == check.figures.size(); }

/// Every possible setting up to the doubt of the first that explains all; best first: most explained, least assumed.
std::vector<Tried> try_all(const DoctorQuestion& question, const ScenarioFile& file, Scenario scenario,
                           std::int64_t length) {
  std::vector<Tried> tried;
  std::optional<std::size_t> enough;
  for (DoctorSettings& settings : possible_settings(question, scenario.model)) {
    if (enough && settings.doubt > *enough) break;
    ScenarioFile one = with_settings(file, settings.assignments);
    set_size(one, question.log, std::nullopt);
    try {
      read_section(one.root, "engine", scenario);
    } catch (const InputError&) {  // a key that the release does not have
      continue;
    }
    std::optional<SettingsCheck> check = check_settings(question.log, scenario.model, scenario.engine, length);
    if (!check) continue;
    if (is_full(*check)) enough = settings.doubt;
    tried.push_back({std::move(settings), std::move(*check)});
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const Tried& a, const Tried& b) { return a.check.explained > b.check.explained; });
  return tried;
}

std::string value_of(const std::vector<Assignment>& settings, const std::string& key) {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return {};
}

/// "vllm-0.33, sm90, mode align".
std::string rules_text(const std::vector<Assignment>& settings) {
  std::vector<std::string> words{value_of(settings, "engine.release")};
  const std::string profile = value_of(settings, "engine.backend_profile");
  if (!profile.empty()) words.push_back(profile);
  const std::string mode = value_of(settings, "engine.cache_mode");
  if (!mode.empty()) words.push_back("mode " + mode);
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Does the figure depend on the tokens of a step where a model has windows?
bool follows_steps(LogKey key) { return key != LogKey::block_size && key != LogKey::padding_percent; }

/// The figures that remain open because the log does not say how many tokens a step has; empty: there are none.
std::string undecided_figures(const SettingsCheck& best) {
  std::vector<std::string> figures;
  for (const FigureCheck& figure : best.figures)
    if (!figure.explained && follows_steps(figure.key))
      figures.push_back(fmt::format("{} {}", to_string(figure.key), figure.printed));
  if (figures.empty()) return {};
  return fmt::format("windows hold the tokens of a step, and the log does not say how many that are: no usual number "
                     "gives {}; --set engine.max_num_batched_tokens=TOKENS says it", fmt::join(figures, ", "));
}

/// Why the figures that the best settings do not explain cannot be right. Where the tokens of a step are open, figures
/// that depend on them are left out.
std::vector<std::string> contradictions_of(const StartupLog& log, const std::vector<Tried>& tried, bool open_steps) {
  std::vector<std::string> found = log.disagreements;
  const auto& engine_length = log.find(LogKey::max_model_len);
  const auto& capacity_length = log.find(LogKey::concurrency_length);
  if (engine_length && capacity_length && engine_length->text != capacity_length->text)
    found.push_back(fmt::format("the engine is configured for {} tokens (line {}), but its concurrency is for {} "
                                "(line {})", engine_length->text, engine_length->line, capacity_length->text,
                                capacity_length->line));
  const Tried& best = tried.front();
  if (is_full(best.check)) return found;
  std::vector<std::string> agreed;
  for (const FigureCheck& figure : best.check.figures)
    if (figure.explained) agreed.push_back(fmt::format("{} {}", to_string(figure.key), figure.printed));
  for (const FigureCheck& figure : best.check.figures) {
    if (figure.explained || (open_steps && follows_steps(figure.key))) continue;
    const std::string given = figure.planned.empty() ? "nothing is" : "it is " + figure.planned;
    found.push_back(fmt::format("{} {} cannot be: {}{} by the rules of {}", to_string(figure.key), figure.printed,
                                agreed.empty() ? "" : fmt::format("beside {} ", fmt::join(agreed, ", ")), given,
                                rules_text(best.settings.assignments)));
  }
  if (open_steps) return found;
  // Other sets of figures may explain as much, and the log does not say which of its figures is the wrong one.
  std::vector<std::vector<FigureCheck>> rivals = best.check.rivals;
  for (const Tried& other : tried)
    if (other.check.explained == best.check.explained && other.settings.doubt == best.settings.doubt)
      rivals.push_back(other.check.figures);
  std::vector<std::string> others;
  for (const std::vector<FigureCheck>& figures : rivals)
    for (std::size_t i = 0; i < figures.size(); ++i) {
      if (figures[i].explained || !best.check.figures[i].explained) continue;
      const std::string text = fmt::format("{} {}", to_string(figures[i].key), figures[i].printed);
      add_once(others, text);
    }
  if (!others.empty())
    found.push_back(fmt::format("or {} cannot be: the other figures do not decide it", fmt::join(others, ", or ")));
  return found;
}

/// What the log says of how prefixes are found, as keys of the section simulate.
std::vector<Assignment> cache_settings(const DoctorQuestion& question) {
  std::vector<Assignment> settings;
  for (const auto& [key, from] : {std::pair("match_unit_tokens", LogKey::match_unit),
                                  std::pair("retention_interval_tokens", LogKey::retention),
                                  std::pair("max_num_seqs", LogKey::max_num_seqs)})
    if (const auto value = question.log.whole(from); value && !is_asked(question.asked, "simulate", key))
      settings.emplace_back(fmt::format("simulate.{}", key), std::to_string(*value));
  return settings;
}

/// The cache whose prefixes the engine finds; nothing where that is not known of it.
std::optional<AnyCache> cache_of_log(ScenarioFile file, const CachePlan& plan) {
  try {
    if (!is_asked(file, "limits", "max_model_len")) apply_override(file, "limits.max_model_len", "1", from_log);
    return cache_of(plan, read_scenario(file));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Explanation explanation_of(const DoctorQuestion& question, const ScenarioFile& file, Scenario scenario,
                           const std::vector<Tried>& tried, std::int64_t length) {
  const Tried& best = tried.front();
  Explanation explained;
  explained.model = scenario.model.name;
  explained.settings = best.settings.assignments;
  explained.assumed = best.settings.assumed;
  explained.figures = best.check.figures;
  explained.length = length;
  explained.num_blocks = best.check.num_blocks;
  explained.is_sized_by_settings = question.log.is_of_pools() && !best.check.num_blocks;
  for (const Tried& other : tried) {
    if (other.check.explained != best.check.explained || other.settings.doubt != best.settings.doubt) continue;
    const std::string text = rules_text(other.settings.assignments);
    if (text == rules_text(best.settings.assignments)) continue;
    if (std::find(explained.also.begin(), explained.also.end(), text) == explained.also.end())
      explained.also.push_back(text);
  }
  ScenarioFile one = with_settings(file, best.settings.assignments);
  set_size(one, question.log, best.check.num_blocks);
  read_section(one.root, "engine", scenario);
  explained.plan = plan_fitting_or_not(scenario.model, scenario.engine, std::max<std::int64_t>(1, length));
  explained.cache_settings = cache_settings(question);
  explained.cache = cache_of_log(with_settings(std::move(one), explained.cache_settings), explained.plan);
  return explained;
}

}  // namespace

bool Explanation::is_complete() const {
  return std::all_of(figures.begin(), figures.end(), [](const FigureCheck& figure) { return figure.explained; });
}

DoctorAnswer doctor(const DoctorQuestion& question) {
  require_figures(question);
  const ScenarioFile file = with_model(question);
  const Scenario scenario = base_scenario(file, question.log);
  require_known_log(question, scenario);
  const std::int64_t length = length_of(question, scenario);
  const std::vector<Tried> tried = try_all(question, file, scenario, length);
  if (tried.empty())
    throw InputError(fmt::format("{}: no setting of {} that the log leaves possible can be planned; give its ranks and "
                                 "element types by --tp and --kv-dtype", question.log_name, scenario.model.name));
  DoctorAnswer answer;
  answer.found = question.log;
  answer.explained = explanation_of(question, file, scenario, tried, length);
  const bool open_steps = steps_are_open(question, scenario.model);
  answer.contradictions = contradictions_of(question.log, tried, open_steps);
  if (open_steps) answer.undecided = undecided_figures(tried.front().check);
  const Explanation& explained = answer.explained;
  const ServedCache served{question.log, explained.plan, explained.cache ? &*explained.cache : nullptr,
                           explained.num_blocks, length, explained.is_sized_by_settings, has_trace(question)};
  const std::vector<std::string> impossible = run_contradictions(served);
  answer.contradictions.insert(answer.contradictions.end(), impossible.begin(), impossible.end());
  answer.reasons = run_reasons(served);
  answer.failure = start_failure(question, file, explained, answer.contradictions);
  answer.better = better_settings(question, file, explained);
  if (!answer.reasons.empty()) answer.more_hits = hit_settings(question, file, explained);
  if (has_trace(question)) answer.replay = replay_log(question, file, explained);
  return answer;
}

}  // namespace hybridkv
