// `hybridkv audit` and `simulate --record`: what is written is read, faults have exit code 1, bad input 2.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;

namespace {

const std::string recorded_run = "simulate qwen3.5-397b --pack 1 --requests 200 --driver closed_loop --in-flight 8";

/// The recording of a run in a folder, with a fault where one is named.
std::string recording_in(const ScratchFolder& scratch, const std::string& fault = "") {
  const std::string path = (scratch.path / (fault + "run.jsonl")).string();
  const ProgramRun run =
      run_program(recorded_run + " --record " + path + (fault.empty() ? "" : " --record-fault " + fault));
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return path;
}

}  // namespace

TEST_CASE("golden: a recorded run is right, from a file and from a pipe, in every format") {
  const ScratchFolder scratch;
  const std::string path = recording_in(scratch);
  CHECK(contains(run_program("audit " + path).output, "RESULT: the cache is right: 200 requests, "));
  for (const char* format : {"table", "markdown", "csv", "json"}) {
    const ProgramRun run = run_program(std::string("audit ") + path + " --format " + format);
    CHECK(run.exit_code == 0);
    CHECK(run_program(std::string("audit - --format ") + format + " < " + path).exit_code == 0);
  }
  const auto json = nlohmann::json::parse(run_program("audit " + path + " --format json").output);
  CHECK(json["result"] == "right");
  CHECK(json["requests"] == 200);
  CHECK(json["hits"] > 50);
  CHECK(json["checked_states"] > 100);
  CHECK(json["findings"].empty());
}

TEST_CASE("fault: a fault in a recording has exit code 1, and its request, layer and step are named") {
  const ScratchFolder scratch;
  const std::string path = recording_in(scratch, "shifted-boundary");
  const ProgramRun run = run_program("audit " + path + " --quiet");
  CHECK(run.exit_code == 1);
  CHECK(run.output.starts_with("RESULT: request 0 reads layer 0's state (and 14 more layers') behind 2,097 tokens "
                               "where it goes on\nbehind 2,096, written by request 0 in step 1 (step 2, line 53); "));
  const auto json = nlohmann::json::parse(run_program("audit " + path + " --format json").output);
  CHECK(json["result"] == "wrong");
  CHECK(json["findings"][0]["fault"] == "other_position");
  CHECK(json["findings"][0]["step"] == 2);
  CHECK(json["findings"][0]["layer"] == 0);
  CHECK(json["findings"][0]["expected"] == 2096);
  const ProgramRun csv = run_program("audit " + path + " --format csv");
  CHECK(csv.exit_code == 1);
  CHECK(csv.output.starts_with("fault,line,step,request,group,layer,rank,block,writer,writer_step,first_token,"
                               "end_token,expected,found,object,text\nother_position,53,2,0,1,0,0,"));
}

TEST_CASE("edge: what is no recording is refused with its line and a way out") {
  const ScratchFolder scratch;
  const std::string trace = scratch.file("trace.jsonl", "{\"timestamp\":0}\n");
  require_refused("audit " + trace, "trace.jsonl:1: this is no recording: its first line has no field");
  require_refused("audit " + trace, "hybridkv simulate … --record FILE");
  require_refused("audit missing.jsonl", "missing.jsonl");
  const std::string cut = scratch.file(
      "cut.jsonl", text_of(recording_in(scratch)).substr(0, 3000) + "\n{\"event\":\"ends\",\"request\":1}\n");
  require_refused("audit " + cut, "cut.jsonl:");
}

TEST_CASE("edge: runs that are not recorded, and faults that have no place") {
  const ScratchFolder scratch;
  const std::string out = (scratch.path / "out.jsonl").string();
  const std::string one = "simulate qwen3.5-397b --requests 20 --record " + out;
  require_refused(one + " --pack 1,3", "--record writes the events of one cache, here are 2; choose one, say with");
  require_refused(one + " --pack 1 --engine sglang-0.5.23", "--record writes what happens in pools of blocks");
  require_refused(one + " --pack 1 --host-memory 1G", "leave out --host-memory");
  require_refused(one + " --pack 1 --record-fault nan", "--record-fault nan: no such fault; take one of state-of-");
  require_refused("simulate qwen3.5-397b --record-fault nan-tail", "say where it goes by --record FILE");
  require_refused("simulate qwen3.5-397b --pack 1 --requests 1 --record " + out + " --record-fault hits-disagree",
                  "no event of this run has a place for it, so nothing is written");
  CHECK(scratch.names().empty());
  CHECK(run_program(one + " --pack 1").exit_code == 0);
  require_refused(one + " --pack 1", "--force");
  CHECK(run_program(one + " --pack 1 --force").exit_code == 0);
}
