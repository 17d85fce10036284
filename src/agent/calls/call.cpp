// SPDX-License-Identifier: MIT
#include "agent/calls/call.h"

#include <algorithm>
#include <cstring>

namespace rochound::agent {

constinit __thread CallState call_state __attribute__((tls_model("initial-exec"))) = {};

namespace internal {

constinit bool record_stacks = false;

void WriteText(ThreadState* thread, uint64_t correlation, uint32_t argument, const char* text) {
  const size_t total = strnlen(text, kMaxTextLength);
  const size_t kept = std::min(total, kMaxTextBytes);
  size_t offset = 0;
  do {
    auto* piece = thread->log->Reserve<trace::TextPiece>();
    if (piece == nullptr) return;
    const size_t bytes = std::min(kept - offset, sizeof(piece->text));
    piece->correlation = correlation;
    piece->total = total;
    std::memcpy(piece->text, text + offset, bytes);
    std::memset(piece->text + bytes, 0, sizeof(piece->text) - bytes);
    thread->log->Commit(piece, static_cast<uint16_t>(argument << 8 | bytes),
                        static_cast<uint32_t>(offset));
    offset += bytes;
  } while (offset < kept);
}

}  // namespace internal

void EndCall(const Call& call, uint64_t end_tsc, uint32_t result, const uint64_t* words,
             size_t count) {
  ThreadState* thread = call.thread;
  trace::ThreadLog* log = thread->log;
  if (call.domain == Domain::kHip) call_state.hip_depth = 0;
  thread->correlation = call.outer;
  log->CloseCall();

  constexpr size_t kPerRecord = 6;
  for (size_t first = 0; first < count; first += kPerRecord) {
    auto* arguments = log->Reserve<trace::ApiArguments>();
    if (arguments == nullptr) break;
    const size_t here = std::min(count - first, kPerRecord);
    arguments->correlation = call.correlation;
    for (size_t i = 0; i < here; ++i) arguments->words[i] = words[first + i];
    for (size_t i = here; i < kPerRecord; ++i) arguments->words[i] = 0;
    log->Commit(arguments, static_cast<uint16_t>(here), static_cast<uint32_t>(first));
  }
  if (auto* record = log->Reserve<trace::ApiCall>()) {
    record->begin_tsc = call.begin_tsc;
    record->end_tsc = end_tsc;
    record->correlation = call.correlation;
    log->Commit(record, call.function, result);
  }
}

}  // namespace rochound::agent
