#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <system_error>

#include "attention/backend_comparison.h"
#include "attention/unified.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/values.h"
#include "report/attend_report.h"
#include "verify/attention_case.h"

namespace hybridkv {

namespace {

struct AttendOptions {
  std::string folder;
  std::string output_folder;
  std::string precision = "fp32";
  UnifiedOptions unified;
  OutputOptions output;
};

template <class Real>
AttendReport attend(const AttentionCase& batch, const AttendOptions& options, AttentionOutputFiles& files) {
  const UnifiedResult<Real> result = unified_attention<Real>(batch.inputs, options.unified);
  write_attention_output(files, batch.inputs, result.output);
  return {.folder = options.output_folder.empty() ? options.folder : options.output_folder,
          .requests = batch.inputs.metadata->num_reqs,
          .query_tokens = batch.inputs.num_tokens(),
          .shared_blocks = static_cast<std::int64_t>(result.blocks.shared.size()),
          .unique_blocks = static_cast<std::int64_t>(result.blocks.unique.size()),
          .backends = compare_backends(batch.inputs, AttentionBackend::unified, result.output),
          .memory = result.memory};
}

/// A flag that takes one of these words.
template <class Value>
void add_choice(CLI::App& command, const char* flag, const std::map<std::string, Value>& meanings, Value& value,
                const char* doc) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : meanings) words.push_back(word);
  command
      .add_option_function<std::string>(
          flag, [meanings, &value](const std::string& word) { value = meanings.at(word); }, doc)
      ->check(one_of(words))
      ->type_name("MODE");
}

int run_attend(const AttendOptions& options) {
  const std::filesystem::path folder = options.output_folder.empty() ? options.folder : options.output_folder;
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (!options.output_folder.empty() && !std::filesystem::is_directory(status))
    throw InputError(fmt::format("{}: no such folder to write out.npy and lse.npy to{}", folder.string(),
                                 status.type() == std::filesystem::file_type::none ? ": " + error.message() : ""));
  const AttentionCase batch = load_attention_case(options.folder);
  for (const char* output : {"out.npy", "lse.npy"}) refuse_overwriting(folder / output, input_files(options.folder));
  AttentionOutputFiles files(folder);
  const AttendReport report =
      options.precision == "fp64" ? attend<double>(batch, options, files) : attend<float>(batch, options, files);
  write_output(render_attend(report, options.output.format(), options.output.style()));
  return exit_fine;
}

}  // namespace

void add_attend_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("attend", "Run unified attention on tensors in .npy files; writes out.npy and lse.npy");
  const auto options = std::make_shared<AttendOptions>();
  command
      ->add_option("DIR", options->folder,
                   "folder with q, k_new, v_new, kv_cache, block_table, seq_lens, query_lens .npy and case.json")
      ->type_name("")
      ->required();
  command->add_option("--output,-o", options->output_folder, "folder for the results (default: DIR)")->type_name("DIR");
  command->add_option("--precision", options->precision, "fp32 or fp64 arithmetic (default: fp32)")
      ->check(one_of({"fp32", "fp64"}))
      ->type_name("DTYPE");
  const std::map<std::string, SharedBiasMode> biases{
      {"full", SharedBiasMode::full}, {"chunked", SharedBiasMode::chunked}, {"sparse", SharedBiasMode::sparse}};
  add_choice(*command, "--bias", biases, options->unified.shared_bias,
             "bias of shared blocks: full, chunked or sparse (default: chunked)");
  command->add_option("--chunk", options->unified.chunk_blocks, "shared blocks per chunk (default: 64)")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("BLOCKS");
  const std::map<std::string, MergeMode> merges{{"online", MergeMode::online}, {"offline", MergeMode::offline}};
  add_choice(*command, "--merge", merges, options->unified.merge,
             "online or offline merge of the parts (default: online)");
  add_output_options(*command, options->output);
  command->footer("Examples:\n"
                  "  hybridkv attend case/\n"
                  "  hybridkv attend case/ --bias chunked --chunk 4 --precision fp64 -o results/");
  command->callback([options, &action] { action = [options] { return run_attend(*options); }; });
}

}  // namespace hybridkv
