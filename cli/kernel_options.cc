#include "cli/kernel_options.h"

#include "base/shell_word.h"
#include "cli/exit_codes.h"

namespace hybridkv {

void add_kernels_option(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("--kernels", files,
                  "cards of kernels (hybridkv.testing of the Python package): what this layout would corrupt, exit "
                  "code 1, or make them refuse")
      ->type_name("CARD...");
}

std::string kernel_words(const std::vector<std::string>& files) {
  return files.empty() ? "" : " --kernels " + shell_list(files);
}

int exit_of_kernels(const std::vector<KernelFit>& fits) {
  return corrupts_kernel(fits) ? exit_fault_found : exit_fine;
}

}  // namespace hybridkv
