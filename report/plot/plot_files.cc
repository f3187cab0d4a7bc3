#include "report/plot/plot_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file_error.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/parallel.h"
#include "report/plot/plot_names.h"

namespace hybridkv {

namespace {

/// Both ends of a pipe, closed at the end.
struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_file_error("a pipe", "cannot be made", errno);
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    ::close(read);
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
};

/// The environment with a locale of UTF-8 in which numbers have a point: scripts and pictures are UTF-8, and in the
/// plain C locale gnuplot warns of the characters that it cannot show.
std::vector<std::string> environment_of_utf8() {
  std::vector<std::string> settings;
  for (char** setting = environ; *setting != nullptr; ++setting)
    if (!std::string_view(*setting).starts_with("LC_ALL=")) settings.emplace_back(*setting);
  settings.emplace_back("LC_ALL=C.UTF-8");
  return settings;
}

/// Pointers to the words and the null that ends them, as C takes a list. The words must outlive them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts a program whose standard output is the pipe. What we ignore, it does not.
::pid_t start(const std::filesystem::path& folder, const std::vector<std::string>& command, const Pipe& pipe) {
  std::vector<std::string> words = command;
  std::vector<std::string> settings = environment_of_utf8();
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(settings);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  ::posix_spawn_file_actions_adddup2(&actions, pipe.write, STDOUT_FILENO);
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::sigset_t ignored;
  ::sigemptyset(&ignored);
  ::sigaddset(&ignored, SIGPIPE);
  ::sigaddset(&ignored, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  ::pid_t process = 0;
  const int error =
      ::posix_spawnp(&process, arguments.front(), &actions, &attributes, arguments.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw ProgramError(
        fmt::format("the program {} cannot be started: {}", command.front(), std::generic_category().message(error)));
  return process;
}

}  // namespace

ProgramOutput run_in(const std::filesystem::path& folder, const std::vector<std::string>& command) {
  Pipe pipe;
  const ::pid_t process = start(folder, command, pipe);
  pipe.close_write();
  ProgramOutput output;
  std::array<char, 1 << 16> piece;
  for (::ssize_t count; (count = ::read(pipe.read, piece.data(), piece.size())) > 0 || (count < 0 && errno == EINTR);)
    output.text.append(piece.data(), static_cast<std::size_t>(std::max<::ssize_t>(count, 0)));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status))
    throw ProgramError(fmt::format("the program {} was ended by signal {}", command.front(), WTERMSIG(status)));
  output.exit_code = WEXITSTATUS(status);
  return output;
}

namespace {

std::string picture_name(const Plot& plot, PictureFormat format) {
  return fmt::format("{}.{}", plot.name, to_string(format));
}

/// The files of a plot: data, script or picture made here, and the picture.
std::vector<std::string> file_names(const Plot& plot, const PictureSpec& picture) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plot.tables.size(); ++i) names.push_back(data_file_name(plot, i));
  names.push_back(plot.svg ? picture_name(plot, PictureFormat::svg) : plot.name + ".gp");
  names.push_back(picture_name(plot, picture.format));
  return names;
}

/// Writes data and script of a plot, or its picture where no program has to draw it; lists them and its picture.
void write_sources(const Plot& plot, const PictureSpec& picture, const std::filesystem::path& folder,
                   std::vector<std::filesystem::path>& files, std::string& drawn) {
  const auto write = [&](const std::string& name, const std::string& content) {
    files.push_back(folder / name);
    write_file(files.back(), content);
  };
  for (std::size_t i = 0; i < plot.tables.size(); ++i)
    write(data_file_name(plot, i), tab_separated(plot.tables[i].table));
  const std::string svg = plot.svg ? plot.svg(picture.width) : std::string();
  if (plot.svg)
    write(picture_name(plot, PictureFormat::svg), svg);
  else
    write(plot.name + ".gp", gnuplot_script(plot, picture));
  if (plot.svg && picture.format == PictureFormat::svg)
    drawn = svg;
  else
    files.push_back(folder / picture_name(plot, picture.format));
}

/// How a picture of a format ends; without it it is cut.
bool is_complete(std::string_view picture, PictureFormat format) {
  while (picture.ends_with('\n')) picture.remove_suffix(1);
  switch (format) {
    case PictureFormat::svg: return picture.ends_with("</svg>");
    case PictureFormat::png: return picture.ends_with("IEND\xae\x42\x60\x82");
    case PictureFormat::pdf: return picture.ends_with("%%EOF");
  }
  return false;
}

/// A PDF always names the moment it was made; replaced by one and the same, so that equal plots are equal files.
void fix_pdf_date(std::string& picture) {
  const std::string_view key = "/CreationDate (D:";
  const std::string_view date = "20000101000000";
  const std::size_t start = picture.find(key);
  if (start != std::string::npos && start + key.size() + date.size() <= picture.size())
    picture.replace(start + key.size(), date.size(), date);
}

/// gnuplot escapes no ">" of a text, which XML does not allow after "]]".
void fix_svg_text(std::string& picture) {
  for (std::size_t at = 0; (at = picture.find("]]>", at)) != std::string::npos; at += 3)
    picture.replace(at + 2, 1, "&gt;");
}

/// A program that draws, its Debian package, and what the user has without it.
struct DrawingProgram {
  const char* name;
  const char* package;
  std::string left;
};

/// The picture that the program gives. Throws ProgramError where it gives none.
std::string draw(const DrawingProgram& program, const std::vector<std::string>& arguments, PictureFormat format,
                 const std::filesystem::path& folder) {
  std::vector<std::string> command{program.name};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProgramOutput output;
  try {
    output = run_in(folder, command);
  } catch (const ProgramError& missing) {
    throw ProgramError(fmt::format("{}; install it (Debian: {}); {}", missing.what(), program.package, program.left));
  }
  if (output.exit_code != 0 || !is_complete(output.text, format))
    throw ProgramError(fmt::format("{} could not draw {} (exit code {}), see its message above; {}", program.name,
                                   arguments.back(), output.exit_code, program.left));
  if (format == PictureFormat::pdf) fix_pdf_date(output.text);
  if (format == PictureFormat::svg) fix_svg_text(output.text);
  return std::move(output.text);
}

}  // namespace

DrawnPlots draw_plots(std::span<const Plot> plots, const PictureSpec& picture, const std::filesystem::path& folder,
                      const Replaces& replaces) {
  const OutputFolder made(folder);
  for (const Plot& plot : plots)
    for (const std::string& name : file_names(plot, picture)) refuse_overwriting(folder / name, replaces);
  DrawnPlots drawn;
  drawn.pictures.resize(plots.size());
  std::string scripts;
  for (const Plot& plot : plots)
    if (!plot.svg) scripts += " " + plot.name + ".gp";
  const DrawingProgram gnuplot{
      "gnuplot", "gnuplot-nox",
      fmt::format("data and scripts are in {}: there, `gnuplot{}` draws them", folder.string(), scripts)};
  const DrawingProgram converter{"rsvg-convert", "librsvg2-bin",
                                 fmt::format("data, scripts and SVG pictures are in {}", folder.string())};
  // All sources come before all pictures: without a program they are what there is.
  for (std::size_t i = 0; i < plots.size(); ++i)
    write_sources(plots[i], picture, folder, drawn.files, drawn.pictures[i]);
  std::vector<std::string> missing(plots.size());
  parallel_for(plots.size(), [&](std::size_t i) {
    const Plot& plot = plots[i];
    if (plot.svg && picture.format == PictureFormat::svg) return;
    const std::string format(to_string(picture.format));
    try {
      drawn.pictures[i] = plot.svg ? draw(converter, {"--format", format, picture_name(plot, PictureFormat::svg)},
                                          picture.format, folder)
                                   : draw(gnuplot, {"-e", "to_stdout = 1", plot.name + ".gp"}, picture.format, folder);
      if (!plot.svg && picture.format == PictureFormat::svg) drawn.pictures[i] = with_names(plot, drawn.pictures[i]);
      write_file(folder / picture_name(plot, picture.format), drawn.pictures[i]);
    } catch (const ProgramError& error) {
      missing[i] = error.what();
    }
  });
  const auto first = std::find_if(missing.begin(), missing.end(), [](const std::string& why) { return !why.empty(); });
  if (first != missing.end()) drawn.missing = *first;
  return drawn;
}

}  // namespace hybridkv
