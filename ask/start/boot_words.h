#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/start/boot.h"
#include "scenarios/command_words.h"

namespace hybridkv {

/// What is said of a start beside the scenario, each as it is typed; empty or nothing where it is not.
struct BootWords {
  std::string gpu;          ///< by its name (known_gpus)
  std::string gpu_memory;   ///< "141GiB"
  std::string utilization;  ///< share of the GPU that may be taken, "0.9"
  std::string weights;      ///< on one rank, "51.5GiB"
  std::string beside;       ///< activations, graphs and the rest
  std::string available;    ///< memory of the cache as the engine prints it: "40.00 GiB"
  std::optional<std::int64_t> max_num_seqs;
  bool enforce_eager = false;
  bool are_keywords = false;  ///< of a program: messages write gpu_memory=…, not --gpu-memory …

  bool names_gpu() const { return !gpu.empty() || !gpu_memory.empty(); }
};

/// The memory of the cache, engine.memory, as such words say it.
struct SaidMemory {
  std::int64_t bytes = 0;  ///< of a GPU all of it, before weights and the rest are taken off
  std::string shown;       ///< how messages call it: "--gpu H100"
};

/// Puts what the words say into a question, but for its file; the memory, which belongs there, is returned, nothing
/// where they say none.
/// Throws InputError, whose place is the name of the word ("gpu_memory") and whose text writes it as it was typed: a
/// size or share that is none, an unknown GPU, what belongs to a GPU without one.
std::optional<SaidMemory> take_words(BootQuestion& question, const BootWords& words);

/// The flags by which a question is typed again, for commands to try: those of its scenario, then the words.
std::vector<TypedFlag> typed_flags(const CommandWords& scenario, const BootWords& words);

}  // namespace hybridkv
