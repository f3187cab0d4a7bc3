#include "report/engines_report.h"

#include "report/compare_report.h"

namespace hybridkv {

Document engines_report(const EnginesReportInputs& inputs) {
  Document document = compare_document(inputs.comparison, CompareRules::shown);
  // Pictures first: they say at once what the table says in numbers.
  document.blocks.insert(document.blocks.begin() + 1, inputs.pictures.begin(), inputs.pictures.end());
  document.blocks.emplace_back(Heading{"Commands"});
  document.blocks.emplace_back(Code{inputs.commands});
  return document;
}

}  // namespace hybridkv
