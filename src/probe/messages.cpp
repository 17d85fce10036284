// SPDX-License-Identifier: MIT
#include "probe/messages.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/csv.h"

namespace rochound::probe {
namespace {

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string LocationJson(const Location& location) {
  return fmt::format(R"({{"file":{},"line":{},"column":{},"function":{}}})", Quoted(location.file),
                     location.line, location.column, Quoted(location.function));
}

}  // namespace

MessageWriter::MessageWriter(const AnalyzerOutput& output)
    : out_(output.file), csv_(output.format == AnswerFormat::kCsv) {
  if (csv_)
    line_ =
        "process,dispatch,kernel,function,group_x,group_y,group_z,group,wave,action,space,pointer,"
        "bytes,mask,file,line,column,addresses\n";
}

void MessageWriter::OnAccess(const AccessMessage& message) {
  csv_ ? WriteCsv(message) : WriteJson(message);
  WriteIfMuch();
}

void MessageWriter::WriteIfMuch() {
  constexpr size_t kEnough = 1 << 16;
  if (line_.size() < kEnough) return;
  std::fwrite(line_.data(), 1, line_.size(), out_);
  line_.clear();
}

void MessageWriter::OnBlock(const BlockMessage& message) {
  if (csv_) return;
  const Dispatch& dispatch = *message.dispatch;
  fmt::format_to(std::back_inserter(line_),
                 R"({{"process":{},"dispatch":{},"kernel":{},"function":{},"group":[{},{},{}],)"
                 R"("group_number":{},"wave":{},"action":"block","block":{},"mask":"{:x}",)"
                 R"("way":"{:x}","clock":{},"cycles":{},"at":[{}]}}{})",
                 dispatch.process, dispatch.number, Quoted(dispatch.kernel),
                 Quoted(*message.function), message.group[0], message.group[1], message.group[2],
                 message.group_number, message.wave, message.site->block, message.mask, message.way,
                 message.clock, message.cycles, Described(*message.site), "\n");
  WriteIfMuch();
}

void MessageWriter::OnValue(const ValueMessage& message) {
  const Dispatch& dispatch = *message.dispatch;
  auto out = std::back_inserter(line_);
  if (csv_)  // its name is where others say how they are addressed
    fmt::format_to(out, "{},{},{},{},{},{},{},{},{},value,,{},{},{:x},{},", dispatch.process,
                   dispatch.number, base::CsvText(dispatch.kernel),
                   base::CsvText(*message.function), message.group[0], message.group[1],
                   message.group[2], message.group_number, message.wave,
                   base::CsvText(message.site->name), message.site->bytes, message.mask,
                   Described(*message.site));
  else
    fmt::format_to(out,
                   R"({{"process":{},"dispatch":{},"kernel":{},"function":{},"group":[{},{},{}],)"
                   R"("group_number":{},"wave":{},"action":"value","name":{},"bytes":{},)"
                   R"("mask":"{:x}","at":[{}],"values":[)",
                   dispatch.process, dispatch.number, Quoted(dispatch.kernel),
                   Quoted(*message.function), message.group[0], message.group[1], message.group[2],
                   message.group_number, message.wave, Quoted(message.site->name),
                   message.site->bytes, message.mask, Described(*message.site));
  const char* between = "";
  for (const uint64_t value : *message.values) {
    fmt::format_to(out, "{0}{1}{2:x}{1}", between, csv_ ? "" : "\"", value);
    between = csv_ ? " " : ",";
  }
  line_ += csv_ ? "\n" : "]}\n";
  WriteIfMuch();
}

std::string MessageWriter::Answer(const StreamSummary&) { return std::exchange(line_, {}); }

const std::string& MessageWriter::Described(const Site& site) {
  if (&site == described_site_) return described_;
  described_site_ = &site;
  if (csv_) {
    const Location none;
    const Location& at = site.at.empty() ? none : site.at[0];
    described_ = fmt::format("{},{},{}", base::CsvText(at.file), at.line, at.column);
    return described_;
  }
  described_.clear();
  for (const Location& location : site.at)
    described_ += (described_.empty() ? "" : ",") + LocationJson(location);
  return described_;
}

void MessageWriter::WriteJson(const AccessMessage& message) {
  const Dispatch& dispatch = *message.dispatch;
  auto out = std::back_inserter(line_);
  fmt::format_to(out,
                 R"({{"process":{},"dispatch":{},"kernel":{},"function":{},"group":[{},{},{}],)"
                 R"("group_number":{},"wave":{},"action":"{}","space":"{}","pointer":"{}",)"
                 R"("bytes":{},"mask":"{:x}","at":[{}],"addresses":[)",
                 dispatch.process, dispatch.number, Quoted(dispatch.kernel),
                 Quoted(*message.function), message.group[0], message.group[1], message.group[2],
                 message.group_number, message.wave, message.site->action, message.space,
                 message.site->pointer, message.site->bytes, message.mask,
                 Described(*message.site));
  const char* comma = "";
  for (const uint64_t address : *message.addresses) {
    fmt::format_to(out, "{}\"{:x}\"", comma, address);
    comma = ",";
  }
  line_ += "]}\n";
}

void MessageWriter::WriteCsv(const AccessMessage& message) {
  const Dispatch& dispatch = *message.dispatch;
  auto out = std::back_inserter(line_);
  fmt::format_to(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{:x},{},", dispatch.process,
                 dispatch.number, base::CsvText(dispatch.kernel), base::CsvText(*message.function),
                 message.group[0], message.group[1], message.group[2], message.group_number,
                 message.wave, message.site->action, message.space, message.site->pointer,
                 message.site->bytes, message.mask, Described(*message.site));
  const char* space = "";
  for (const uint64_t address : *message.addresses) {
    fmt::format_to(out, "{}{:x}", space, address);
    space = " ";
  }
  line_ += "\n";
}

}  // namespace rochound::probe
