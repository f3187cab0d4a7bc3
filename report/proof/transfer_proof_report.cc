#include "report/proof/transfer_proof_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"
#include "report/json_text.h"
#include "report/proof/planted_faults.h"
#include "report/transfer/transfer_report.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

/// How fast the copies ran: "12.3 GB/s".
std::string rate_text(const TransferProof& proof) {
  if (proof.copy_seconds <= 0) return "";
  return fmt::format(", {:.1f} GB/s", static_cast<double>(proof.written_bytes) / proof.copy_seconds / 1e9);
}

Facts run_facts(const TransferProof& proof) {
  Facts facts;
  if (!proof.planted.empty()) facts.entries.emplace_back("planted", proof.planted);
  facts.entries.emplace_back("moved",
                             fmt::format("{} in {}", exact_bytes(proof.moved_bytes),
                                         human_plural(proof.descriptors, "descriptor")));
  if (!proof.continued.empty()) facts.entries.emplace_back("goes on", proof.continued);
  facts.entries.emplace_back(
      "memory", fmt::format("{} reserved in the pools, at most {} of them resident, {} at the peak of the process",
                            human_bytes(proof.reserved_bytes), human_bytes(proof.resident_bytes),
                            human_bytes(proof.peak_process_bytes)));
  facts.entries.emplace_back("time", fmt::format("{:.1f} s; the list took {:.1f} ms, the copies {:.2f} s{}",
                                                 proof.seconds, 1000 * proof.list_seconds, proof.copy_seconds,
                                                 rate_text(proof)));
  return facts;
}

/// The check that owns the fault where it found it, else the first that did, if any.
std::string caught_by(const TransferProof& proof) {
  if (proof.caught()) return std::string(info_of(*proof.fault).found_by);
  return proof.first_failure() ? proof.first_failure()->name : "";
}

std::string conclusion(const TransferProof& proof) {
  const CheckResult* const failure = proof.first_failure();
  if (proof.fault && proof.caught())
    return fmt::format("The planted fault {} was caught by {}.", to_string(*proof.fault), caught_by(proof));
  if (proof.fault)
    return fmt::format("The planted fault {} was NOT caught by {}: the checks are broken.", to_string(*proof.fault),
                       info_of(*proof.fault).found_by);
  if (failure != nullptr) return fmt::format("The transfer is wrong: {} found a fault.", failure->name);
  if (!proof.passed()) return "Not every check could run, so nothing is shown.";
  return "Every element is where it belongs, nothing else was touched, and what goes on there gives the same.";
}

void add_run(Document& document, const TransferProof& proof) {
  document.blocks.emplace_back(
      Heading{proof.fault ? fmt::format("Planted: {}", to_string(*proof.fault)) : std::string("Proof on real pools")});
  document.blocks.emplace_back(run_facts(proof));
  document.blocks.emplace_back(checks_table(proof.checks));
  Listing faults{{}, true}, notes;
  for (const CheckResult& check : proof.checks)
    if (!check.message.empty())
      (check.status == CheckStatus::failed ? faults : notes)
          .items.push_back(fmt::format("{}: {}", check.name, check.message));
  for (Listing* const listing : {&faults, &notes})
    if (!listing->items.empty()) document.blocks.emplace_back(std::move(*listing));
  document.blocks.emplace_back(Paragraph{conclusion(proof)});
}

Table planted_table(std::span<const TransferProof> proofs) {
  return table_of<TransferProof>({{{"fault", "planted"}, &TransferProof::fault},
                                  {{"result", "result"}, planted_result<TransferProof>},
                                  {{"check", "by"}, [](const auto& run) { return caught_by(run); }},
                                  {{"where", "where"}, &TransferProof::planted}},
                                 proofs);
}

ordered_json run_json(const TransferProof& proof) {
  ordered_json json;
  json["fault"] = proof.fault ? ordered_json(to_string(*proof.fault)) : ordered_json(nullptr);
  json["planted"] = proof.planted;
  if (!proof.no_place.empty()) json["no_place"] = proof.no_place;
  json["passed"] = proof.passed();
  json["checks"] = ordered_json::array();
  for (const CheckResult& check : proof.checks) json["checks"].push_back(check_json(check));
  json["descriptors"] = proof.descriptors;
  json["moved_bytes"] = proof.moved_bytes;
  json["written_bytes"] = proof.written_bytes;
  json["continued"] = proof.continued;
  json["reserved_bytes"] = proof.reserved_bytes;
  json["resident_bytes"] = proof.resident_bytes;
  json["peak_process_bytes"] = proof.peak_process_bytes;
  json["list_seconds"] = proof.list_seconds;
  json["copy_seconds"] = proof.copy_seconds;
  json["seconds"] = proof.seconds;
  return json;
}

}  // namespace

Document transfer_proof_report(const TransferAnswer& transfer, std::span<const TransferProof> proofs) {
  expects(!proofs.empty(), "a report has at least one proof");
  Document document;
  add_transfer_sides(document, transfer);
  const bool all_planted =
      std::all_of(proofs.begin(), proofs.end(), [](const TransferProof& proof) { return proof.fault.has_value(); });
  if (all_planted && proofs.size() > 1)
    add_catalogue(document, proofs, planted_table(proofs), "here", "its check",
                  [](const TransferProof& proof) { return to_string(*proof.fault); });
  else
    for (const TransferProof& proof : proofs) add_run(document, proof);
  return document;
}

Table transfer_proof_table(std::span<const TransferProof> proofs) {
  return run_checks_table(run_check_fields<TransferProof>(), proofs);
}

std::string render_transfer_proof(const TransferAnswer& transfer, std::span<const TransferProof> proofs, Format format,
                                  const Style& style) {
  if (format == Format::csv) return render_csv(transfer_proof_table(proofs));
  if (format != Format::json) return render_people(transfer_proof_report(transfer, proofs), format, style);
  ordered_json json = transfer_head_json(transfer, transfer_proof_schema_id);
  if (const auto [planted, caught] = count_caught(proofs); planted > 0) {
    json["planted"] = planted;
    json["caught"] = caught;
  }
  json["runs"] = ordered_json::array();
  for (const TransferProof& proof : proofs) json["runs"].push_back(run_json(proof));
  return json_text(json);
}

}  // namespace hybridkv
