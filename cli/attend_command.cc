#include <limits>
#include <map>
#include <memory>

#include "ask/attend.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/values.h"
#include "report/proof/attend_report.h"

namespace hybridkv {

namespace {

struct AttendOptions {
  AttendQuestion question;
  std::string precision = "fp32";
  OutputOptions output;
};

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

int run_attend(AttendOptions options) {
  options.question.in_float64 = options.precision == "fp64";
  write_output(render_attend(attend(options.question), options.output.format(), options.output.style()));
  return exit_fine;
}

}  // namespace

void add_attend_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("attend", "Run unified attention on tensors in .npy files; writes out.npy and lse.npy");
  const auto options = std::make_shared<AttendOptions>();
  command
      ->add_option("DIR", options->question.folder,
                   "folder with q, k_new, v_new, kv_cache, block_table, seq_lens, query_lens .npy and case.json")
      ->type_name("")
      ->required();
  command->add_option("--output,-o", options->question.output_folder, "folder for the results (default: DIR)")
      ->type_name("DIR");
  add_force_option(*command, options->question.overwrite);
  command->add_option("--precision", options->precision, "fp32 or fp64 arithmetic (default: fp32)")
      ->check(one_of({"fp32", "fp64"}))
      ->type_name("DTYPE");
  const std::map<std::string, SharedBiasMode> biases{
      {"full", SharedBiasMode::full}, {"chunked", SharedBiasMode::chunked}, {"sparse", SharedBiasMode::sparse}};
  add_choice(*command, "--bias", biases, options->question.unified.shared_bias,
             "bias of shared blocks: full, chunked or sparse (default: chunked)");
  command->add_option("--chunk", options->question.unified.chunk_blocks, "shared blocks per chunk (default: 64)")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("BLOCKS");
  const std::map<std::string, MergeMode> merges{{"online", MergeMode::online}, {"offline", MergeMode::offline}};
  add_choice(*command, "--merge", merges, options->question.unified.merge,
             "online or offline merge of the parts (default: online)");
  add_output_options(*command, options->output);
  command->footer("Examples:\n"
                  "  hybridkv attend case/\n"
                  "  hybridkv attend case/ --bias chunked --chunk 4 --precision fp64 -o results/");
  command->callback([options, &action] { action = [options] { return run_attend(*options); }; });
}

}  // namespace hybridkv
