#include "ask/start/start_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/start/counted_weights.h"
#include "ask/start/doctor_change.h"
#include "base/error.h"
#include "base/number_text.h"
#include "base/shell_word.h"
#include "engines/engine.h"
#include "scenarios/key_flags.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

/// Reads one failed start.
class FailureReader {
 public:
  FailureReader(const DoctorQuestion& question, const ScenarioFile& file, const Explanation& explained,
                std::vector<std::string>& contradictions)
      : question_(question), log_(question.log), file_(file), explained_(explained), contradictions_(contradictions) {}

  StartFailure read() {
    const LogValue& failed = *log_.find(LogKey::failure);
    failure_.code = failed.text;
    failure_.line = failed.line;
    if (failed.text == "longest_request") longest_request();
    else if (failed.text == "running_requests") running_requests();
    else if (failed.text == "free_memory") free_memory();
    else no_memory();
    return std::move(failure_);
  }

 private:
  std::string text_of(LogKey key) const { return log_.find(key) ? log_.find(key)->text : "an unknown number"; }
  std::optional<double> number_of(LogKey key) const {
    return log_.find(key) ? std::optional(std::stod(log_.find(key)->text)) : std::nullopt;
  }

  void longest_request() {
    failure_.text = fmt::format("one request of max_model_len ({} tokens) does not fit the memory of the cache",
                                human_count(explained_.length));
    if (explained_.length > 0)
      failure_.text += fmt::format(": it needs {} of {} bytes, {}",
                                   human_plural(explained_.plan.capacity.front().blocks_per_request, "block"),
                                   human_count(explained_.plan.arenas.front().bytes_per_id),
                                   printed_gib(explained_.plan.capacity.front().bytes_per_request));
    if (explained_.num_blocks)
      failure_.text += fmt::format(", and there are {}, of which one is the null block",
                                   human_count(*explained_.num_blocks));
    try_to_boot("longest_request");
  }

  void running_requests() {
    failure_.text = fmt::format("max_num_seqs is {}, and memory has {} blocks of states: each running request takes "
                                "one at least, and graphs are captured for all of them", text_of(LogKey::max_num_seqs),
                                text_of(LogKey::state_blocks));
    const auto seqs = log_.whole(LogKey::max_num_seqs), blocks = log_.whole(LogKey::state_blocks);
    if (seqs && blocks && *seqs <= *blocks)
      contradictions_.push_back(fmt::format("the start failed because max_num_seqs {} exceeds {} blocks, and it does "
                                            "not (line {})", *seqs, *blocks, failure_.line));
    try_to_boot("running_requests");
  }

  void no_memory() {
    failure_.text = "no memory is left for the cache: weights and what a step takes fill the share of the GPU that "
                    "the engine may have";
    weigh();
  }

  void free_memory() {
    const auto free = number_of(LogKey::free_gib), total = number_of(LogKey::total_gib),
               share = number_of(LogKey::utilization), wanted = number_of(LogKey::wanted_gib);
    failure_.text = fmt::format("{} of {} GiB of the GPU were free, and gpu_memory_utilization {} asks for {} GiB",
                                text_of(LogKey::free_gib), text_of(LogKey::total_gib), text_of(LogKey::utilization),
                                text_of(LogKey::wanted_gib));
    if (!free || !total || !share || !wanted || *total <= 0) return;
    constexpr double last_digit = 0.01;
    failure_.text += fmt::format(": something else holds {:.2f} GiB; end it, or pass --gpu-memory-utilization {:.2f}",
                                 *total - *free, std::floor(*free / *total / last_digit) * last_digit);
    // Both sizes are rounded to their last digit.
    if (std::abs(*share * *total - *wanted) > last_digit)
      contradictions_.push_back(fmt::format("wanted_memory_gib {} cannot be: {} of {} GiB are {:.2f} (line {})",
                                            text_of(LogKey::wanted_gib), text_of(LogKey::utilization),
                                            text_of(LogKey::total_gib), *share * *total, failure_.line));
    if (*free >= *wanted)
      contradictions_.push_back(fmt::format("the start failed because {} GiB are less than {}, and they are not (line "
                                            "{})", text_of(LogKey::free_gib), text_of(LogKey::wanted_gib),
                                            failure_.line));
  }

  /// Says what the weights of a rank take, on as many ranks and on more.
  void weigh() {
    std::vector<std::string> ranks;
    try {
      Scenario scenario = read_scenario(scenario_file_of_log());
      for (const std::int64_t more : {1, 2, 4}) {
        EngineSpec engine = scenario.engine;
        engine.tensor_parallel *= more;
        const CountedWeights weights = counted_weights(scenario.model, engine);
        ranks.push_back(more == 1 ? fmt::format("weights are counted as {} a rank ({})", printed_gib(weights.bytes),
                                                weights.basis)
                                  : fmt::format("on {} ranks {}", engine.tensor_parallel, printed_gib(weights.bytes)));
      }
    } catch (const InputError&) {  // its parameters are not known, or it cannot be split so
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) failure_.text += (i == 0 ? "; " : ", ") + ranks[i];
  }

  ScenarioFile scenario_file_of_log() const {
    ScenarioFile one = with_settings(file_, explained_.settings);
    apply_override(one, "engine.memory", "1 TiB", from_log);
    apply_override(one, "limits.max_model_len", std::to_string(std::max<std::int64_t>(1, explained_.length)), from_log);
    return one;
  }

  /// The memory of the cache as it was printed, GiB.
  std::optional<std::string> printed_memory() const {
    if (const auto& memory = log_.find(LogKey::memory_gib); memory && !log_.blocks_overridden) return memory->text;
    if (!log_.find(LogKey::checked_gib)) return std::nullopt;
    // What was checked may lack the null block.
    const double page = explained_.plan.rules->reserves_null_block
                            ? static_cast<double>(explained_.plan.arenas.front().bytes_per_id) / 0x1p30
                            : 0.0;
    return fmt::format("{:.2f}", *number_of(LogKey::checked_gib) + page);
  }

  void try_to_boot(const char* code) {
    const auto memory = printed_memory();
    if (!memory || explained_.length == 0) return;
    BootQuestion question;
    question.file = with_settings(file_, explained_.settings);
    apply_override(question.file, "engine.memory", *memory + " GiB", from_log);
    apply_override(question.file, "limits.max_model_len", std::to_string(explained_.length), from_log);
    question.max_num_seqs = log_.whole(LogKey::max_num_seqs);
    add_typed(question, *memory);
    try {
      const Scenario scenario = read_scenario(question.file);
      question.printed_memory = scenario.engine.memory_bytes;
      if (engine_of(*scenario.engine.rules).start == nullptr) return;
      BootAnswer answer = boot(question);
      failure_.tries = std::move(answer.tries);
      const bool agrees = std::any_of(answer.failures.begin(), answer.failures.end(), [&](const BootFailure& failure) {
        return failure.code == code || failure.code == "memory";
      });
      if (!agrees && explained_.is_complete())
        contradictions_.push_back(fmt::format("by the rules of {} it {}", answer.rules->name,
                                              answer.boots() ? "starts" : "fails: " + answer.failures.front().message));
    } catch (const InputError&) {  // what cannot be asked of the engine is not tried
    }
  }

  /// The flags that say the same to `hybridkv boot`.
  void add_typed(BootQuestion& question, const std::string& memory) const {
    const YamlNode* const model = question_.asked.root.find("model");
    question.typed.emplace_back("--model", shell_word(model && !model->text.empty() ? model->text : explained_.model));
    question.typed.emplace_back("--available-memory", memory);
    question.typed.emplace_back("--max-model-len", std::to_string(explained_.length));
    for (const auto& [key, value] : explained_.settings)
      if (const std::string_view flag = flag_of_key(key_flags, key); !flag.empty())
        question.typed.emplace_back(std::string(flag), shell_word(value));
      else
        question.typed.emplace_back("--set", shell_word(fmt::format("{}={}", key, value)));
    if (question.max_num_seqs) question.typed.emplace_back("--max-num-seqs", std::to_string(*question.max_num_seqs));
  }

  const DoctorQuestion& question_;
  const StartupLog& log_;
  const ScenarioFile& file_;
  const Explanation& explained_;
  std::vector<std::string>& contradictions_;
  StartFailure failure_;
};

}  // namespace

std::optional<StartFailure> start_failure(const DoctorQuestion& question, const ScenarioFile& file,
                                          const Explanation& explained, std::vector<std::string>& contradictions) {
  if (!question.log.find(LogKey::failure)) return std::nullopt;
  return FailureReader(question, file, explained, contradictions).read();
}

}  // namespace hybridkv
