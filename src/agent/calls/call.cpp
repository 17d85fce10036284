// SPDX-License-Identifier: MIT
#include "agent/calls/call.h"

#include <algorithm>
#include <cstring>

namespace rochound::agent {

constinit __thread CallState call_state __attribute__((tls_model("initial-exec"))) = {};

namespace internal {

constinit std::atomic<bool> record_stacks{false};

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

void WriteWords(const Call& call, const uint64_t* words, size_t count) {
  for (size_t first = 0; first < count; first += kWordsPerRecord) {
    auto* record = call.thread->log->Reserve<trace::ApiArguments>();
    if (record == nullptr) return;
    const size_t here = std::min(count - first, kWordsPerRecord);
    record->correlation = call.correlation;
    std::memcpy(record->words, words + first, here * sizeof(uint64_t));
    call.thread->log->Commit(record, static_cast<uint16_t>(here), static_cast<uint32_t>(first));
  }
}

}  // namespace rochound::agent
