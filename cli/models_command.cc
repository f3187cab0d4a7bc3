#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "report/models_report.h"
#include "scenarios/model_library.h"

namespace hybridkv {

void add_models_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("models", "List the models that come with hybridkv, with state and block size");
  const auto options = std::make_shared<OutputOptions>();
  add_output_options(*command, *options);
  command->footer("Examples:\n"
                  "  hybridkv models\n"
                  "  hybridkv models --format csv");
  command->callback([options, &action] {
    action = [options] {
      std::vector<ListedModel> models;
      for (const ShippedModel& shipped : shipped_models())
        models.push_back({shipped.model, fmt::format("{}", fmt::join(shipped.aliases, ", "))});
      write_output(render_models(models, options->format(), options->style()));
      return exit_fine;
    };
  });
}

}  // namespace hybridkv
