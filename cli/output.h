#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "report/format.h"

namespace hybridkv {

/// What every command offers about its output.
struct OutputOptions {
  std::string format_name = "table";
  std::string colour = "auto";  ///< auto, always or never
  bool quiet = false;           ///< no progress on stderr

  Format format() const;
  /// Colours only on a terminal unless asked for; NO_COLOR and TERM=dumb in the environment are respected.
  Style style() const;
};

/// Does the environment say that the terminal understands neither colours nor movements of the cursor?
bool is_dumb_terminal();

/// Adds --force, for commands that write files: what exists is replaced (refuse_overwriting).
void add_force_option(CLI::App& command, Overwrite& overwrite);

/// Adds --format, --color and --quiet to a command.
void add_output_options(CLI::App& command, OutputOptions& options);

/// Writes a command's whole result to standard output at once.
/// Throws ResourceError where it cannot be written; a closed pipe is no error.
void write_output(const std::string& text);

/// The same piece by piece; false where nobody reads any more, so that what is left to do would be for nobody.
bool write_output_piece(std::string_view text);

/// Writes a message to standard error, with a line feed; on a terminal in lines of its width, elsewhere as one line
/// that can be searched. Text of the user's in it cannot drive the terminal; a standard error that cannot be written to
/// is no reason to fail.
void write_message(std::string_view text);

}  // namespace hybridkv
