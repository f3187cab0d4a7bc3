#include "ask/conform/conform.h"

#include <fmt/format.h>

#include <optional>

#include "ask/conform/conform_request.h"
#include "ask/conform/driver_process.h"
#include "ask/conform/plan_record.h"
#include "ask/conform/replay_record.h"
#include "base/error.h"
#include "planner/plan.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

InputError unreadable(const std::string& line, const std::string& why) {
  constexpr std::size_t most_shown = 200;
  return InputError(fmt::format("the driver answered what cannot be read ({}): {}", why, line.substr(0, most_shown)));
}

/// A line of a driver as an object.
Json object_of(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) throw unreadable(line, "no JSON object");
  return json;
}

/// Text of an object, empty where it has none of that name.
std::string text_of(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// Our side of a case: a plan and its figures, or why there is none.
struct OurSide {
  std::optional<CachePlan> plan;
  Json figures;
  std::string refusal;
  std::string refused_key;

  /// Do we say that the engine refuses the case, or that it may end in it?
  bool foretells() const { return !plan || (plan->rows && plan->rows->may_end); }
};

/// Takes the prompts from the case where we cannot replay them, so that nobody is asked to.
OurSide our_side(ConformCase& one) {
  OurSide ours;
  try {
    ours.plan = make_plan(one.model, one.engine, {.max_model_lens = {one.max_model_len}});
    ours.figures = plan_record(*ours.plan);
    if (std::optional<Json> replay = replay_record(one, *ours.plan))
      ours.figures["replay"] = std::move(*replay);
    else
      one.prompts.clear();
  } catch (const SpecError& error) {
    ours = {std::nullopt, Json(), error.message(), error.path()};
    one.prompts.clear();
  }
  return ours;
}

class Conversation {
 public:
  Conversation(const ConformQuestion& question, ConformAnswer& answer) : driver_(question.driver), answer_(answer) {
    answer.rules = question.engine->rules;
    answer.known_version = question.engine->conformance->version;
    const std::string line = driver_.receive();
    const Json hello = object_of(line);
    if (!hello.contains("version") || !hello["version"].is_string()) throw unreadable(line, "no version");
    answer.version = hello["version"];
    if (hello.contains("stubs"))
      for (const Json& stub : hello["stubs"])
        answer.stubs.push_back(stub.is_string() ? stub.get<std::string>() : stub.dump());
    made_by_ = hello.value("made_by", Json::object());
  }

  /// Asks for one case, compares the answer, and returns it as a record; null where it was not put to the engine.
  Json ask(ConformCase one) {
    const OurSide ours = our_side(one);
    const Json request = conform_request(one, answer_.cases++);
    driver_.send(request.dump());
    const std::string line = driver_.receive();
    const Json reply = object_of(line);
    if (reply.contains("unfit"))
      throw InputError(fmt::format("the driver does not fit version {}: {}", answer_.version, text_of(reply, "unfit")));
    if (reply.value("id", Json()) != request["id"]) throw unreadable(line, "not the answer to what was asked");
    if (reply.contains("not_asked")) {
      ++answer_.not_asked[text_of(reply, "not_asked")];
      return Json();
    }
    if (!reply.contains("refused") && !(reply.contains("figures") && reply["figures"].is_object()))
      throw unreadable(line, "neither figures nor a refusal");
    compare(one, request, ours, reply);
    Json record = request;
    record["version"] = answer_.version;
    for (const char* key : {"figures", "refused"})
      if (reply.contains(key)) record[key] = reply[key];
    return record;
  }

 private:
  void compare(const ConformCase& one, const Json& request, const OurSide& ours, const Json& reply) {
    const bool refuses = reply.contains("refused");
    if (refuses && ours.foretells()) {
      ++answer_.refused;
    } else if (!ours.plan || refuses) {
      add_refusal(one, request, ours, reply);
    } else if (const auto first = first_difference(ours.figures, reply["figures"], answer_.figures)) {
      add_difference(one, request, *ours.plan, *first, reply);
    } else {
      ++answer_.equal;
    }
  }

  void add_refusal(const ConformCase& one, const Json& request, const OurSide& ours, const Json& reply) {
    ConformDifference difference{
        .words = one.words(), .request = request, .first = {"refusal", "refusal", "planned", "planned"}};
    if (ours.plan) {
      difference.first.theirs = "refused";
      difference.said = text_of(reply, "refused");
    } else {
      difference.first.ours = "refused";
      difference.rule = ours.refusal;
      difference.source = ours.refused_key;
    }
    answer_.differences.push_back(std::move(difference));
  }

  void add_difference(const ConformCase& one, const Json& request, const CachePlan& plan, const RecordDifference& first,
                      const Json& reply) {
    ConformDifference difference{.words = one.words(), .request = request, .first = first};
    if (const std::optional<Decision> decision = decision_on(plan, first.figure)) {
      difference.rule = decision->rule;
      difference.values = substituted_rule(*decision).value_or("");
      difference.source = decision->source;
    }
    difference.made_by = text_of(made_by_, first.name);
    const Json said = reply.value("said", Json::object());
    difference.said = text_of(said, said.contains(first.figure) ? first.figure : first.name);
    answer_.differences.push_back(std::move(difference));
  }

  DriverProcess driver_;
  ConformAnswer& answer_;
  Json made_by_;
};

}  // namespace

ConformAnswer conform(const ConformQuestion& question, const ConformProgress& progress, const ConformRecords& records) {
  expects(question.engine->conformance != nullptr, "an engine that can be asked");
  const std::vector<ConformCase> cases = conform_cases(*question.engine, question.grid);
  ConformAnswer answer;
  Conversation conversation(question, answer);
  for (const ConformCase& one : cases) {
    if (progress) progress(one, answer.cases, std::ssize(cases));
    const Json record = conversation.ask(one);
    if (records && !record.is_null()) records(record);
  }
  return answer;
}

}  // namespace hybridkv
