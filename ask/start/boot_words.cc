#include "ask/start/boot_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/shell_word.h"
#include "scenarios/key_flags.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

/// "--gpu-memory much", or "gpu_memory=much".
std::string typed_word(const BootWords& words, std::string word, const std::string& text) {
  if (words.are_keywords) return fmt::format("{}={}", word, text);
  std::replace(word.begin(), word.end(), '_', '-');
  return fmt::format("--{} {}", word, text);
}

[[noreturn]] void refuse_word(const BootWords& words, const std::string& word, const std::string& text,
                              const std::string& problem) {
  throw InputError(fmt::format("{}: {}", typed_word(words, word, text), problem), word, problem);
}

/// A size, in bytes.
std::int64_t size_of_word(const BootWords& words, const char* word, const std::string& text) {
  const ParsedNumber size = parse_size(text);
  if (!size.problem.empty()) refuse_word(words, word, text, size.problem + "; write it like 26.5GiB");
  return size.value;
}

/// As the engine prints it: GiB with two decimals. What has no unit and a point is meant so.
std::string printed_size(const std::string& text) {
  const bool is_plain = text.find_first_not_of("0123456789.") == std::string::npos;
  return is_plain && text.find('.') != std::string::npos ? text + " GiB" : text;
}

GpuQuestion gpu_question(const BootWords& words) {
  GpuQuestion question{.gpu = words.gpu.empty() ? unnamed_gpu(0) : find_gpu(words.gpu)};
  if (!words.gpu_memory.empty()) question.gpu.total_bytes = size_of_word(words, "gpu_memory", words.gpu_memory);
  if (!words.weights.empty()) question.weights_bytes = size_of_word(words, "weights", words.weights);
  if (!words.beside.empty()) question.beside_bytes = size_of_word(words, "beside", words.beside);
  if (words.utilization.empty()) return question;
  const ParsedReal share = parse_real(words.utilization);
  if (!share.problem.empty() || share.value <= 0 || share.value > 1)
    refuse_word(words, "utilization", words.utilization, "is no share of the GPU; write it like 0.9");
  question.utilization = share.value;
  return question;
}

void refuse_without_gpu(const BootWords& words) {
  for (const auto& [word, text] : {std::pair("weights", words.weights), std::pair("beside", words.beside),
                                   std::pair("utilization", words.utilization)})
    if (!text.empty())
      refuse_word(words, word, text,
                  words.are_keywords ? "belongs to gpu= or gpu_memory=, which are missing"
                                     : "belongs to --gpu NAME or --gpu-memory SIZE, which are missing");
}

}  // namespace

std::optional<SaidMemory> take_words(BootQuestion& question, const BootWords& words) {
  question.max_num_seqs = words.max_num_seqs;
  question.enforce_eager = words.enforce_eager;
  if (words.names_gpu()) {
    question.gpu = gpu_question(words);
    return SaidMemory{question.gpu->gpu.total_bytes,
                      words.gpu_memory.empty() ? typed_word(words, "gpu", words.gpu)
                                               : typed_word(words, "gpu_memory", words.gpu_memory)};
  }
  refuse_without_gpu(words);
  if (words.available.empty()) return std::nullopt;
  question.printed_memory = size_of_word(words, "available_memory", printed_size(words.available));
  return SaidMemory{*question.printed_memory, typed_word(words, "available_memory", words.available)};
}

std::vector<TypedFlag> typed_flags(const CommandWords& scenario, const BootWords& words) {
  std::vector<TypedFlag> typed;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) typed.emplace_back(flag, shell_word(value));
  };
  for (const std::string& assignment : scenario.overrides) add("--set", assignment);
  for (std::size_t i = 0; i < key_flags.size(); ++i) add(key_flags[i].flag, scenario.values[i]);
  add("--gpu", words.gpu);
  add("--gpu-memory", words.gpu_memory);
  add("--utilization", words.utilization);
  add("--weights", words.weights);
  add("--beside", words.beside);
  add("--available-memory", words.available);
  if (words.max_num_seqs) add("--max-num-seqs", std::to_string(*words.max_num_seqs));
  if (words.enforce_eager) typed.emplace_back("--enforce-eager", "");
  return typed;
}

}  // namespace hybridkv
