#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>

#include "ask/transfer/transfer.h"
#include "ask/transfer/transfer_alternatives.h"
#include "ask/transfer/transfer_ids.h"
#include "ask/transfer/transfer_proof.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/destination_options.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/values.h"
#include "report/proof/transfer_proof_report.h"
#include "report/transfer/transfer_layouts.h"
#include "report/transfer/transfer_lines.h"
#include "report/transfer/transfer_report.h"

namespace hybridkv {

namespace {

struct TransferCommandOptions {
  ScenarioOptions from;
  DestinationOptions to;
  std::string present;
  std::string ids = std::string(to_string(IdOrder::scattered));
  std::string as = "request";
  std::string from_ids;
  std::string to_ids;
  std::vector<std::string> convert;
  Overwrite overwrite = Overwrite::no;
  std::string export_file;
  bool alternatives = false;
  bool verify = false;
  std::vector<std::string> inject;
  OutputOptions output;
};

/// The ids of a file; nothing where none is named.
std::optional<GivenIds> ids_in(const std::string& file, const char* flag) {
  if (file.empty()) return std::nullopt;
  return GivenIds{read_request_tables(file), fmt::format("{} {}", flag, file)};
}

TransferQuestion question_of(const TransferCommandOptions& options) {
  TransferQuestion question = transfer_question(options.from, options.to, "TO");
  if (!options.present.empty()) question.present_tokens = std::stoll(options.present);
  question.ids = *parse_id_order(options.ids);
  question.as_prefix = options.as == "prefix";
  question.from_ids = ids_in(options.from_ids, "--from-ids");
  question.to_ids = ids_in(options.to_ids, "--to-ids");
  for (const std::string& what : options.convert)
    (what == "dtype" ? question.options.converts_dtypes : question.options.exchanges_axes) = true;
  return question;
}

/// Is it a list that this command wrote?
bool is_transfer_list(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::array<char, 64> first{};
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), std::ssize(first));
  return begins_transfer_lines({first.data(), static_cast<std::size_t>(file.gcount())});
}

/// The file that the list goes to; nothing where it goes to standard output.
std::optional<OutputFile> export_file(const TransferCommandOptions& options, const TransferQuestion& question) {
  if (options.export_file.empty() || options.export_file == "-") return std::nullopt;
  std::vector<std::string> inputs = question.from.places.sources();
  for (const std::string& name : question.to.places.sources()) inputs.push_back(name);
  inputs.insert(inputs.end(), {options.from_ids, options.to_ids});
  const Overwrite overwrite = is_transfer_list(options.export_file) ? Overwrite::forced : options.overwrite;
  refuse_overwriting(options.export_file, {overwrite, inputs});
  return std::optional<OutputFile>(options.export_file);
}

std::vector<std::string> transfer_fault_names() {
  std::vector<std::string> names{"all"};
  for (const TransferFaultInfo& info : all_transfer_faults()) names.emplace_back(info.name);
  return names;
}

/// What the names plant, one after the other; nothing without any.
TransferProofQuestion proof_question(const std::vector<std::string>& names) {
  TransferProofQuestion question;
  const std::vector<std::string> known = transfer_fault_names();
  if (!names.empty()) question.faults.clear();
  for (const std::string& name : names) {
    if (name == "all") {
      question.planted = Planted::catalogue;
      for (const TransferFaultInfo& info : all_transfer_faults()) question.faults.emplace_back(info.fault);
      continue;
    }
    question.faults.push_back(parse_transfer_fault(name));
    if (!question.faults.back())
      throw InputError(fmt::format("--inject {}: no such fault; take one of {}{}", name, fmt::join(known, ", "),
                                   did_you_mean(name, known)));
  }
  return question;
}

std::string transfer_fault_list() {
  std::string text = "Faults for --inject (exit code 1 when a check finds it; of all of them 0 when\n"
                     "each that has a place between the sides is caught, 1 when one is not):\n";
  for (const TransferFaultInfo& info : all_transfer_faults())
    text += help_entry(std::string(info.name), std::string(info.description));
  return text + help_entry("all", "each of them in turn");
}

/// Proves the transfer and says so; returns the exit code.
int run_proof(const TransferCommandOptions& options, const TransferQuestion& question, const TransferAnswer& transfer,
              const TransferProofQuestion& planted) {
  TransferProofAnswer answer;
  {
    Progress progress(options.output.quiet);
    answer = prove(transfer, question.from, planted,
                   [&](const std::optional<TransferFault>& fault, std::string_view step, int done, int total) {
                     progress.update(fault ? fmt::format("transfer, {}", to_string(*fault)) : "transfer", step, done,
                                     total);
                   });
  }
  write_output(
      render_transfer_proof(transfer, answer.proofs, options.output.format(), options.output.style()));
  return exit_code_of(answer.verdict);
}

int run_transfer(const TransferCommandOptions& options) {
  if (!options.verify && !options.inject.empty()) throw InputError("--inject plants a fault for --verify; add it");
  if (options.verify && options.alternatives)
    throw InputError("--alternatives counts what other layouts take, --verify moves what one takes; give one of them");
  if (options.verify && options.export_file == "-")
    throw InputError("--export -: standard output is what --verify says; give a file");
  const TransferProofQuestion planted = proof_question(options.inject);
  const TransferQuestion question = question_of(options);
  std::optional<OutputFile> file = export_file(options, question);
  const TransferAnswer answer = transfer(question);
  if (options.export_file == "-") {
    write_transfer_lines(answer, write_output_piece);
    return exit_fine;
  }
  if (file) {
    write_transfer_lines(answer, [&](std::string_view lines) {
      file->append(lines);
      return true;
    });
    file->finish();
  }
  if (options.verify) return run_proof(options, question, answer, planted);
  if (options.alternatives) {
    std::vector<TransferAlternative> rows;
    {
      Progress progress(options.output.quiet);
      rows = transfer_alternatives(question, answer, [&](int done, int total) {
        progress.update("transfer", "layouts", done, total);
      });
    }
    write_output(render_transfer_layouts(answer, rows, options.output.format(), options.output.style()));
    return exit_fine;
  }
  write_output(render_transfer(answer, options.output.format(), options.output.style()));
  return exit_fine;
}

void add_transfer_options(CLI::App& command, TransferCommandOptions& options) {
  command
      .add_option("FROM", options.from.scenario,
                  "where the cache is: a scenario file, - for standard input, the name of a scenario that comes with "
                  "hybridkv, or a model as --model takes it")
      ->type_name("");
  command.add_option("TO", options.to.to, "where it goes: a scenario (default: FROM, with --to-set laid over)")
      ->type_name("");
  add_destination_options(command, options.to);
  command
      .add_option("--present", options.present, "of these, from the first on, K and V are there already (default: 0)")
      ->transform(token_count())
      ->type_name("TOKENS");
  command
      .add_option("--as", options.as,
                  "request: it goes on at TO, from the state behind its last token; prefix: TO keeps it for requests "
                  "to come, which only find what ends where they look (default: request)")
      ->check(one_of({"request", "prefix"}))
      ->type_name("WHAT");
  command
      .add_option("--ids", options.ids,
                  "block ids of the request: scattered, as of a pool that has served for a while, or consecutive "
                  "(default: scattered)")
      ->check(one_of(names_of(id_order_names)))
      ->type_name("ORDER");
  command
      .add_option("--from-ids", options.from_ids,
                  "JSON or YAML file with the ids at FROM: a list of groups, each a list of ids; of several stages a "
                  "list of these")
      ->type_name("FILE");
  command.add_option("--to-ids", options.to_ids, "the same with the ids at TO")->type_name("FILE");
  add_list(command, "--convert", options.convert,
           "what may change on the way: dtype (elements are rounded), axes (convolution states are turned), or both",
           "LIST", one_of({"dtype", "axes"}));
  command
      .add_option("--export", options.export_file,
                  "write every descriptor to this file as JSON Lines, - for standard output in place of the report")
      ->type_name("FILE");
  add_force_option(command, options.overwrite);
  command.add_flag("--alternatives", options.alternatives,
                   "what other orders, pack sizes and blocks on both sides would make of it, a row each");
  command.add_flag("--verify", options.verify,
                   "fill pools of full size, run the copies, compare every element, go on at the destination");
  command.add_option("--inject", options.inject, "--verify: plant a fault on purpose; see below")
      ->check(offers({transfer_fault_names()}))
      ->type_name("FAULT");
}

}  // namespace

void add_transfer_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "transfer", "List the copies that move a request's cache to a deployment with another layout, and count them");
  const auto options = std::make_shared<TransferCommandOptions>();
  add_transfer_options(*command, *options);
  add_scenario_flags(*command, options->from);
  describe_one_pack(*command);
  describe_one_length(*command);
  add_output_options(*command, options->output);
  command->footer(
      transfer_fault_list() +
      "\nAll other flags are of FROM; where TO is not named, of both sides, and --to-set\n"
      "comes on top. Both sides hold the same model.\n"
      "\nExamples:\n"
      "  hybridkv transfer qwen3.5-397b --to-set engine.tensor_parallel=8\n"
      "  hybridkv transfer qwen3.5-397b --set engine.physical_order=head_major \\\n"
      "      --pack 5 --to-set engine.tensor_parallel=8 --tokens 32k --present 8k\n"
      "  hybridkv transfer qwen3.5-397b --to-set engine.tensor_parallel=8 \\\n"
      "      --alternatives\n"
      "  hybridkv transfer prefill.yaml decode.yaml --convert dtype\n"
      "  hybridkv transfer prefill.yaml decode.yaml --export copies.jsonl\n"
      "  hybridkv transfer qwen3.5-397b --to-set engine.tensor_parallel=8 --verify\n"
      "  hybridkv transfer qwen3.5-397b --to-set engine.tensor_parallel=8 \\\n"
      "      --format json | jq '.totals.descriptors'");
  command->callback([options, &action] { action = [options] { return run_transfer(*options); }; });
}

}  // namespace hybridkv
