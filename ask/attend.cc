#include "ask/attend.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "verify/attention_case.h"

namespace hybridkv {

namespace {

template <class Real>
AttendAnswer attend_in(const AttentionCase& batch, const UnifiedOptions& options, AttentionOutputFiles& files) {
  const UnifiedResult<Real> result = unified_attention<Real>(batch.inputs, options);
  write_attention_output(files, batch.inputs, result.output);
  return {.folder = {},
          .requests = batch.inputs.metadata->num_reqs,
          .query_tokens = batch.inputs.num_tokens(),
          .shared_blocks = static_cast<std::int64_t>(result.blocks.shared.size()),
          .unique_blocks = static_cast<std::int64_t>(result.blocks.unique.size()),
          .backends = compare_backends(batch.inputs, AttentionBackend::unified, result.output),
          .memory = result.memory};
}

}  // namespace

AttendAnswer attend(const AttendQuestion& question) {
  const std::filesystem::path folder = question.output_folder.empty() ? question.folder : question.output_folder;
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (!question.output_folder.empty() && !std::filesystem::is_directory(status))
    throw InputError(fmt::format("{}: no such folder to write out.npy and lse.npy to{}", folder.string(),
                                 status.type() == std::filesystem::file_type::none ? ": " + error.message() : ""));
  const AttentionCase batch = load_attention_case(question.folder);
  for (const char* output : {"out.npy", "lse.npy"})
    refuse_overwriting(folder / output, {question.overwrite, input_files(question.folder)});
  AttentionOutputFiles files(folder);
  AttendAnswer answer = question.in_float64 ? attend_in<double>(batch, question.unified, files)
                                            : attend_in<float>(batch, question.unified, files);
  answer.folder = folder.string();
  return answer;
}

}  // namespace hybridkv
