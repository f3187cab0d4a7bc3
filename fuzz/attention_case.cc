// The folder that `attend` reads. A small good one, in which the input replaces files: a record is the number of the
// file, a kind, and either its bytes, or type, shape and elements of an array.
#include "verify/attention_case.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "attention/reference.h"
#include "attention/unified.h"
#include "base/npy_file.h"
#include "fuzz/harness.h"

using namespace hybridkv;
namespace fs = std::filesystem;

namespace {

constexpr std::array names{"q.npy",           "k_new.npy",      "v_new.npy",    "kv_cache.npy",
                           "block_table.npy", "query_lens.npy", "seq_lens.npy", "context_lens.npy",
                           "slot_mapping.npy", "sinks.npy",     "case.json"};
constexpr std::size_t num_needed = 7;

/// A folder that lives as long as the process.
class CaseFolder {
 public:
  CaseFolder() : path_(fs::temp_directory_path() / ("hybridkv-fuzz-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    // Two requests, of three and one tokens, in blocks of four; one KV head of two channels, two query heads.
    make<float>(0, {4, 2, 2}, std::vector<float>(16, 0.5F));
    make<float>(1, {4, 1, 2}, std::vector<float>(8, 0.25F));
    make<float>(2, {4, 1, 2}, std::vector<float>(8, 2.0F));
    make<float>(3, {4, 2, 4, 1, 2}, std::vector<float>(64, 1.0F));
    make<std::int64_t>(4, {2, 2}, {1, 2, 1, 3});
    make<std::int64_t>(5, {2}, {3, 1});
    make<std::int64_t>(6, {2}, {7, 5});
  }
  ~CaseFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  CaseFolder(const CaseFolder&) = delete;
  CaseFolder& operator=(const CaseFolder&) = delete;

  fs::path path() const { return path_; }
  fs::path file(std::size_t index) const { return path_ / names[index]; }

  /// The good case again.
  void restore() {
    std::error_code ignored;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!changed_[i]) continue;
      changed_[i] = false;
      if (i < num_needed)
        write(i, good_[i]);
      else
        fs::remove(file(i), ignored);
    }
  }
  void replace(std::size_t index, std::string_view content) {
    changed_[index] = true;
    write(index, content);
  }
  void replace(std::size_t index, NpyType type, const std::vector<std::int64_t>& shape, std::string_view bytes) {
    changed_[index] = true;
    write_npy(file(index), type, shape, std::as_bytes(std::span(bytes.data(), bytes.size())));
  }

 private:
  template <class T>
  void make(std::size_t index, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    write_npy<T>(file(index), shape, values);
    std::ifstream stream(file(index), std::ios::binary);
    good_[index].assign(std::istreambuf_iterator<char>(stream), {});
  }
  void write(std::size_t index, std::string_view content) const {
    std::ofstream(file(index), std::ios::binary | std::ios::trunc) << content;
  }

  fs::path path_;
  std::array<std::string, num_needed> good_;
  std::array<bool, names.size()> changed_{};
};

/// Elements of an array: those of the input over and over, as many as the shape has.
void replace_array(CaseFolder& folder, std::size_t index, fuzz::Input& input) {
  const auto type = static_cast<NpyType>(input.byte() % 9);
  std::vector<std::int64_t> shape(input.byte() % 6);
  std::size_t bytes = static_cast<std::size_t>(element_bytes(type));
  for (std::int64_t& extent : shape) bytes *= static_cast<std::size_t>(extent = input.byte() % 9);
  const std::string_view pattern = input.text(input.byte());
  std::string content(bytes, '\1');
  for (std::size_t i = 0; i < bytes && !pattern.empty(); ++i) content[i] = pattern[i % pattern.size()];
  folder.replace(index, type, shape, content);
}

template <class Real>
void check_output(const AttentionInputs& inputs, const AttentionOutput<Real>& output) {
  const auto heads = inputs.num_tokens() * inputs.num_query_heads;
  fuzz::require(std::ssize(output.lse) == heads && std::ssize(output.out) == heads * inputs.head_size_v(),
                "an output of another size than its inputs");
}

void attend(const CaseFolder& folder, std::uint8_t choice) {
  const AttentionCase batch = load_attention_case(folder.path());
  UnifiedOptions options;
  options.shared_bias = static_cast<SharedBiasMode>(choice % 3);
  options.chunk_blocks = 1 + choice / 3 % 4;
  options.merge = choice >= 128 ? MergeMode::offline : MergeMode::online;
  check_output(batch.inputs, reference_attention(batch.inputs));
  const auto result = unified_attention<float>(batch.inputs, options);
  check_output(batch.inputs, result.output);
  write_attention_output(folder.path(), batch.inputs, result.output);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static CaseFolder folder;
  fuzz::Input input(data, size);
  const std::uint8_t choice = input.byte();
  while (!input.empty()) {
    const std::size_t index = input.byte() % names.size();
    const std::uint8_t kind = input.byte();
    if (kind % 2 == 0) {
      const std::size_t low = input.byte();
      folder.replace(index, input.text(low + 256 * (kind / 64)));
    } else {
      replace_array(folder, index, input);
    }
  }
  fuzz::accepts([&] { attend(folder, choice); });
  folder.restore();
  return 0;
}
