// SPDX-License-Identifier: MIT
#include "store/rpd/trace_writer.h"

#include "store/rpd/rpd_schema.h"

namespace rochound::store {
namespace {

constexpr int kSessionShift = 32;

}  // namespace

void TraceWriter::Begin() {
  for (const auto& [tag, value] : kRpdMetadata) AddMetadata(tag, value);
  String("");  // id 1, as in RPD
}

int64_t TraceWriter::String(std::string_view text) {
  const auto found = strings_.find(text);
  if (found != strings_.end()) return found->second;
  const auto id = static_cast<int64_t>(strings_.size()) + 1;
  Write(id, StringRow{strings_.emplace(text, id).first->first});
  return id;
}

void TraceWriter::BeginSession() {
  ++session_;
  base_ = session_ << kSessionShift;
  empty_args_ = 0;
  counts_ = {};
}

int64_t TraceWriter::AddApi(ApiRow row, std::string_view args) {
  row.args = empty_args_;
  if (row.args == 0 || !args.empty()) {
    row.args = base_ + ++counts_.ustring;
    if (args.empty()) empty_args_ = row.args;
    Write(row.args, UstringRow{CutText(args)});
  }
  const int64_t id = base_ + ++counts_.api;
  Write(id, row);
  return id;
}

int64_t TraceWriter::AddOp(const OpRow& row) {
  const int64_t id = base_ + ++counts_.op;
  Write(id, row);
  return id;
}

int64_t TraceWriter::AddAllocation(const AllocationRow& row) {
  const int64_t id = base_ + ++counts_.allocation;
  Write(id, row);
  return id;
}

int64_t TraceWriter::AddKernel(const KernelRow& row) {
  Write(++kernels_, row);
  return kernels_;
}

void TraceWriter::AddMetadata(std::string tag, std::string value) {
  Write(++metadata_, MetadataRow{std::move(tag), std::move(value)});
}

base::Result<void> TraceWriter::Finish() {
  AddMetadata("session_count", std::to_string(session_ + 1));
  return Close();
}

}  // namespace rochound::store
