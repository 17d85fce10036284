// SPDX-License-Identifier: MIT
#include "agent/calls/functions.h"

#include <cstring>

namespace rochound::agent {

void AppendRow(std::string* text, const FunctionRow& row) {
  text->append(std::to_string(row.id));
  for (const char* part : {row.domain, row.name, row.result.text}) text->append("\t").append(part);
  text->append("\t");
  const char* names = row.arguments;
  for (size_t i = 0; i < row.count; ++i) {
    const size_t length = std::strcspn(names, ",");
    if (i != 0) text->append(",");
    text->append(names, length).append(":").append(row.types[i].text);
    names += length;
    if (*names == ',') ++names;
  }
  if (row.wide_result) {
    if (row.count != 0) text->append(",");
    text->append("return:").append(row.result.text);
  }
  text->append("\n");
}

}  // namespace rochound::agent
