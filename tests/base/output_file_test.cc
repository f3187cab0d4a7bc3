// Files for the user: only regular files are replaced, whole or not at all.
#include "base/output_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "base/error.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

using Names = std::set<std::string>;

/// A device node of this test's own; false, with a message, where making one is not permitted.
bool make_device(const fs::path& path, ::mode_t kind, unsigned major, unsigned minor) {
  if (::mknod(path.c_str(), kind | 0666, makedev(major, minor)) == 0) return true;
  std::printf("SKIPPED: device nodes cannot be made here\n");
  return false;
}

bool is_device(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
}

}  // namespace

TEST_CASE("edge: a new file appears, an old one is replaced and keeps its permissions; nothing else is left") {
  const ScratchFolder folder;
  write_file(folder.path / "new", "text");
  CHECK(folder.content("new") == "text");
  fs::permissions(folder.path / "new", fs::perms{0640});
  write_file(folder.path / "new", std::string(200'000, 'x'));
  CHECK(folder.content("new").size() == 200'000);
  CHECK(fs::status(folder.path / "new").permissions() == fs::perms{0640});
  CHECK(folder.names() == Names{"new"});
}

TEST_CASE("law: what is not finished changes nothing, and files of similar names are nobody's but the user's") {
  const ScratchFolder folder;
  folder.file("rows", "old");
  folder.file("rows.part", "mine");
  folder.file(".hybridkv.part", "mine too");
  {
    OutputFile file(folder.path / "rows");
    file.append(std::string(1 << 20, 'x'));
    file.complete();
    CHECK(folder.names().size() == 4);
    CHECK(folder.content("rows") == "old");
  }
  CHECK(folder.names() == Names{"rows", "rows.part", ".hybridkv.part"});
  CHECK(folder.content("rows") == "old");
  CHECK(folder.content("rows.part") == "mine");
}

TEST_CASE("edge: two writers of one name do not meet; the last one to finish wins") {
  const ScratchFolder folder;
  OutputFile one(folder.path / "rows"), two(folder.path / "rows");
  one.append("one");
  two.append("two");
  two.finish();
  one.finish();
  CHECK(folder.content("rows") == "one");
  CHECK(folder.names() == Names{"rows"});
}

TEST_CASE("edge: of a link the file is replaced that it leads to, over several links and where there is none yet") {
  const ScratchFolder folder;
  fs::create_directory(folder.path / "deep");
  folder.file("deep/target", "old");
  fs::create_symlink("deep/middle", folder.path / "link");
  fs::create_symlink("target", folder.path / "deep/middle");
  write_file(folder.path / "link", "new");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(fs::is_symlink(folder.path / "deep/middle"));
  CHECK(folder.content("deep/target") == "new");
  fs::create_symlink("deep/nothing yet", folder.path / "dangling");
  write_file(folder.path / "dangling", "made");
  CHECK(fs::is_symlink(folder.path / "dangling"));
  CHECK(folder.content("deep/nothing yet") == "made");
}

TEST_CASE("edge: a device is written to, and is a device afterwards; links to it too") {
  const ScratchFolder folder;
  if (!make_device(folder.path / "null", S_IFCHR, 1, 3) || !make_device(folder.path / "full", S_IFCHR, 1, 7)) return;
  fs::create_symlink("null", folder.path / "link");
  for (const char* name : {"null", "link"}) {
    write_file(folder.path / name, "text");
    CHECK(is_device(folder.path / "null"));
  }
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK_THROWS_WITH_AS(write_file(folder.path / "full", "text"), doctest::Contains("full: cannot be written: No space"),
                       ResourceError);
  CHECK(is_device(folder.path / "full"));
  CHECK(folder.names() == Names{"null", "full", "link"});
  if (!make_device(folder.path / "disk", S_IFBLK, 7, 99)) return;
  CHECK_THROWS_WITH_AS(write_file(folder.path / "disk", "text"), doctest::Contains("is a block device"), InputError);
}

TEST_CASE("edge: a device is closed also where its number is that of the standard input, which was closed") {
  const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  ::close(STDIN_FILENO);
  { OutputFile file("/dev/null"); }
  const bool open = ::fcntl(STDIN_FILENO, F_GETFD) >= 0;
  if (input >= 0) ::dup2(input, STDIN_FILENO), ::close(input);
  CHECK_FALSE(open);
}

TEST_CASE("edge: a pipe with a name gets the bytes") {
  const ScratchFolder folder;
  const fs::path pipe = folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_file(pipe, "through the pipe");
  char text[64];
  CHECK(std::string(text, static_cast<std::size_t>(::read(reader, text, sizeof text))) == "through the pipe");
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("edge: bytes that wait for a reader are written though signals come meanwhile") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  std::string written;
  const std::string much(4096, 'x');
  while (::write(ends[1], much.data(), much.size()) > 0) written += much;
  // Full as the pipe is, the next write waits; a signal that restarts nothing ends that call and no more.
  for (const int end : ends) REQUIRE(::fcntl(end, F_SETFL, 0) == 0);
  struct sigaction noticed {}, before {};
  noticed.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGUSR1, &noticed, &before) == 0);
  std::string read;
  std::thread reader([&, writer = ::pthread_self()] {
    for (int signal = 0; signal < 50; ++signal) {
      ::pthread_kill(writer, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    char piece[4096];
    for (::ssize_t count = 0; (count = ::read(ends[0], piece, sizeof piece)) > 0;)
      read.append(piece, static_cast<std::size_t>(count));
  });
  CHECK_NOTHROW(write_all(ends[1], "the end", "a pipe"));
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  ::sigaction(SIGUSR1, &before, nullptr);
  CHECK(read == written + "the end");
}

TEST_CASE("edge: a link to an open file is written to, not replaced") {
  const ScratchFolder folder;
  folder.file("open", "before,");
  const int open = ::open((folder.path / "open").c_str(), O_RDWR);
  write_file("/proc/self/fd/" + std::to_string(open), "after");
  CHECK(folder.content("open") == "before,after");
  ::close(open);
}

TEST_CASE("edge: names that cannot be written to are bad input, each with its reason") {
  const ScratchFolder folder;
  folder.file("file", "text");
  fs::create_directory(folder.path / "folder");
  fs::create_symlink("circle", folder.path / "circle");
  const auto refused = [&](const fs::path& name, const char* reason) {
    CAPTURE(name.string());
    CHECK_THROWS_WITH_AS(OutputFile{name}, doctest::Contains(reason), InputError);
  };
  refused(folder.path / "folder", "folder: is a folder; name a file to write");
  refused(folder.path / "nowhere" / "file", "cannot be written: there is no folder");
  refused(folder.path / "file" / "below", "cannot be written: Not a directory");
  refused(folder.path / "circle", "cannot be written: Too many levels of symbolic links");
  refused(folder.path / std::string(300, 'x'), "cannot be written: File name too long");
  refused(folder.path / "new/", "names a folder; a file is expected");
  refused("", "names a folder; a file is expected");
  CHECK(folder.names() == Names{"file", "folder", "circle"});
}

TEST_CASE("fault: a disk that gets full leaves the old file and nothing else") {
  const ScratchFolder folder;
  folder.file("rows", "old");
  ::rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const ::rlimit small{1 << 17, limit.rlim_max};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_WITH_AS(write_file(folder.path / "rows", std::string(1 << 18, 'x')),
                       doctest::Contains("rows: cannot be written: File too large"), ResourceError);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  CHECK(folder.content("rows") == "old");
  CHECK(folder.names() == Names{"rows"});
}

TEST_CASE("edge: an input is recognised under another name, by link and by hard link") {
  const ScratchFolder folder;
  const std::string trace = folder.file("trace", "text");
  fs::create_symlink("trace", folder.path / "link");
  fs::create_hard_link(trace, folder.path / "hard");
  for (const char* name : {"trace", "./trace", "link", "hard"})
    CHECK_THROWS_WITH_AS(refuse_overwriting(folder.path / name, {Overwrite::forced, {"", "shipped:x.yaml", trace}}),
                         doctest::Contains("which would be overwritten"), InputError);
  CHECK_NOTHROW(refuse_overwriting(folder.path / "other", {Overwrite::forced, {trace}}));
  CHECK_NOTHROW(refuse_overwriting("/dev/null", {Overwrite::no, {"/dev/null"}}));
}

TEST_CASE("edge: a file with anything in it is replaced only where that is asked for") {
  const ScratchFolder folder;
  folder.file("notes", "mine");
  folder.file("empty", "");
  fs::create_symlink("notes", folder.path / "link");
  for (const char* name : {"notes", "link"}) {
    CHECK_THROWS_WITH_AS(refuse_overwriting(folder.path / name, {}),
                         doctest::Contains("exists already; take another name, or --force to replace it"), InputError);
    CHECK_NOTHROW(refuse_overwriting(folder.path / name, {Overwrite::forced, {}}));
  }
  for (const char* name : {"empty", "new"}) CHECK_NOTHROW(refuse_overwriting(folder.path / name, {}));
}
