// SPDX-License-Identifier: MIT
//
// Streams a process's records as events: converts their times, and puts a call together with what
// was written about it before it returned.
#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "trace/reader.h"

namespace rochound::trace {
namespace {

constexpr size_t kMaxWords = 4096;
constexpr size_t kMaxFrames = 4096;
constexpr size_t kMaxTextBytes = 1 << 20;
constexpr size_t kMaxTexts = 256;
constexpr size_t kMaxPending = 256;  // per thread; more are calls whose own records were dropped

// What is known about a call that has not returned yet.
struct Pending {
  struct Text {
    uint32_t argument;
    uint64_t total;
    std::string text;
  };
  uint64_t correlation = 0;
  std::vector<uint64_t> words;
  std::vector<uint64_t> frames;
  std::vector<Text> texts;
  size_t text_count = 0;  // the ones after them keep their memory for later calls

  void Clear(uint64_t next) {
    correlation = next;
    words.clear();
    frames.clear();
    text_count = 0;
  }
};

// Puts `count` words at their place among those of other records.
void PutWords(std::vector<uint64_t>* words, uint64_t first, uint64_t count, const uint64_t* from,
              size_t limit) {
  count = std::min<uint64_t>(count, 6);
  if (first + count > limit) return;
  if (words->size() < first + count) words->resize(first + count);
  std::copy(from, from + count, words->begin() + static_cast<ptrdiff_t>(first));
}

class Stream {
 public:
  Stream(const ProcessLog& log, Visitor& visitor) : log_(log), visitor_(visitor) {}

  // The records that follow are this thread's.
  void Here(const ThreadHere& here) {
    if (pending_ != nullptr && pending_->empty()) threads_.erase(thread_.index);
    thread_ = {here.head.wide, here.tid};
    const auto known = threads_.find(thread_.index);
    pending_ = known == threads_.end() ? nullptr : &known->second;
  }

  void Record(const Head& head, const char* record) {
    switch (head.kind) {
      case Kind::kThreadHere:
        Here(As<ThreadHere>(record));
        break;
      case Kind::kApiCall:
        Call(As<ApiCall>(record));
        break;
      case Kind::kApiArguments: {
        const auto& arguments = As<ApiArguments>(record);
        PutWords(&Find(arguments.correlation).words, head.wide, head.small, arguments.words,
                 kMaxWords);
        break;
      }
      case Kind::kStackFrames: {
        const auto& frames = As<StackFrames>(record);
        PutWords(&Find(frames.correlation).frames, head.wide, head.small, frames.addresses,
                 kMaxFrames);
        break;
      }
      case Kind::kTextPiece:
        Text(As<TextPiece>(record));
        break;
      case Kind::kKernelDispatch:
        visitor_.OnDispatch(At(As<KernelDispatch>(record), &KernelDispatch::submit_tsc));
        break;
      case Kind::kKernelTime:
        visitor_.OnKernelTime(Ticks(As<KernelTime>(record)));
        break;
      case Kind::kCopy:
        visitor_.OnCopy(At(As<Copy>(record), &Copy::submit_tsc));
        break;
      case Kind::kCopyTime:
        visitor_.OnCopyTime(Ticks(As<CopyTime>(record)));
        break;
      case Kind::kAllocation:
        visitor_.OnAllocation(At(As<Allocation>(record), &Allocation::now_tsc));
        break;
      case Kind::kRelease:
        visitor_.OnRelease(At(As<Release>(record), &Release::now_tsc));
        break;
      case Kind::kRange:
        visitor_.OnRange(At(As<Range>(record), &Range::now_tsc));
        break;
      case Kind::kQueue:
        visitor_.OnQueue(At(As<Queue>(record), &Queue::now_tsc));
        break;
      case Kind::kDropped:
        visitor_.OnDropped(At(As<Dropped>(record), &Dropped::now_tsc));
        break;
      case Kind::kStateChange:
        visitor_.OnStateChange(At(As<StateChange>(record), &StateChange::now_tsc));
        break;
      case Kind::kOverhead: {
        const auto& overhead = As<Overhead>(record);
        visitor_.OnOverhead(
            {thread_, overhead, HostNs(overhead.begin_tsc), HostNs(overhead.end_tsc)});
        break;
      }
      case Kind::kThreadEnd:
        visitor_.OnThreadEnd(At(As<ThreadEnd>(record), &ThreadEnd::now_tsc));
        break;
      case Kind::kSwap:
        visitor_.OnSwap(At(As<Swap>(record), &Swap::now_tsc));
        break;
      case Kind::kEnd:
      case Kind::kHostAnchor:
      case Kind::kGpuAnchor:
      case Kind::kKernelSymbol:
        break;  // known since the log was opened
    }
  }

 private:
  template <typename T>
  static const T& As(const char* record) {
    return *reinterpret_cast<const T*>(record);
  }

  uint64_t HostNs(uint64_t tsc) { return log_.host_clock().At(tsc, &host_hint_); }

  template <typename T>
  Event<T> At(const T& record, uint64_t T::* tsc) {
    const uint64_t ns = HostNs(record.*tsc);
    return {thread_, record, ns, ns};
  }

  template <typename T>
  Event<T> Ticks(const T& record) {
    if (record.begin_ticks == 0 && record.end_ticks == 0) return {thread_, record, 0, 0};
    if (clock_ == nullptr || clock_agent_ != record.head.small) {
      clock_agent_ = record.head.small;
      clock_ = &log_.ClockOf(clock_agent_);
      clock_hint_ = 0;
    }
    return {thread_, record, clock_->At(record.begin_ticks, &clock_hint_),
            clock_->At(record.end_ticks, &clock_hint_)};
  }

  void Call(const ApiCall& call) {
    CallEvent event{.thread = thread_,
                    .function = call.head.small,
                    .result = call.head.wide,
                    .begin_ns = HostNs(call.begin_tsc),
                    .end_ns = HostNs(call.end_tsc),
                    .correlation = call.correlation,
                    .words = {},
                    .texts = {},
                    .frames = {}};
    if (pending_ == nullptr || pending_->empty()) {
      visitor_.OnCall(event);
      return;
    }
    const auto found = std::find_if(pending_->rbegin(), pending_->rend(), [&](const auto& pending) {
      return pending->correlation == call.correlation;
    });
    if (found == pending_->rend()) {
      visitor_.OnCall(event);
      return;
    }
    const Pending& pending = **found;
    texts_.clear();
    for (size_t i = 0; i < pending.text_count; ++i) {
      const Pending::Text& text = pending.texts[i];
      texts_.push_back({text.argument, text.total, text.text});
    }
    event.words = pending.words;
    event.texts = texts_;
    event.frames = pending.frames;
    visitor_.OnCall(event);
    // Calls inside this one that are still pending will never return: they were dropped.
    const auto first = std::prev(found.base());
    for (auto one = first; one != pending_->end(); ++one) spare_.push_back(std::move(*one));
    pending_->erase(first, pending_->end());
  }

  Pending& Find(uint64_t correlation) {
    if (pending_ == nullptr) pending_ = &threads_[thread_.index];
    for (auto one = pending_->rbegin(); one != pending_->rend(); ++one) {
      if ((*one)->correlation == correlation) return **one;
    }
    if (pending_->size() >= kMaxPending) {
      spare_.push_back(std::move(pending_->front()));
      pending_->erase(pending_->begin());
    }
    if (spare_.empty()) spare_.push_back(std::make_unique<Pending>());
    pending_->push_back(std::move(spare_.back()));
    spare_.pop_back();
    pending_->back()->Clear(correlation);
    return *pending_->back();
  }

  void Text(const TextPiece& piece) {
    Pending& pending = Find(piece.correlation);
    const uint32_t argument = piece.head.small >> 8;
    const size_t bytes = std::min<size_t>(piece.head.small & 0xff, sizeof piece.text);
    auto* text = pending.text_count == 0 ? nullptr : &pending.texts[pending.text_count - 1];
    if (text == nullptr || text->argument != argument) {
      if (pending.text_count >= kMaxTexts) return;
      if (pending.texts.size() == pending.text_count) pending.texts.emplace_back();
      text = &pending.texts[pending.text_count++];
      text->argument = argument;
      text->total = piece.total;
      text->text.clear();
    }
    // A piece in between was dropped: what is known is the beginning.
    if (piece.head.wide != text->text.size() || text->text.size() + bytes > kMaxTextBytes) return;
    text->text.append(piece.text, bytes);
  }

  const ProcessLog& log_;
  Visitor& visitor_;
  Thread thread_{};
  std::unordered_map<uint32_t, std::vector<std::unique_ptr<Pending>>> threads_;
  std::vector<std::unique_ptr<Pending>>* pending_ = nullptr;  // this thread's; null: none
  std::vector<std::unique_ptr<Pending>> spare_;
  std::vector<TextArgument> texts_;
  size_t host_hint_ = 0;
  const ClockLine* clock_ = nullptr;
  uint16_t clock_agent_ = 0;
  size_t clock_hint_ = 0;
};

}  // namespace

base::Result<void> ProcessLog::Visit(Visitor& visitor) const {
  ChunkReader reader(&segments_, open_);
  Stream stream(*this, visitor);
  uint64_t done = 0;
  uint64_t gone = 0;
  for (const ChunkPlace& place : chunks_) {
    if (!reader.Read(place)) {
      ++gone;
      continue;
    }
    reader.ForEach([&](const Head& head, const char* record) {
      stream.Record(head, record);
      ++done;
    });
    if (!visitor.OnProgress(done, records_)) return {};
  }
  // In a flight recorder at work that is usual; otherwise the files were changed under us.
  if (gone != 0 && !running_) {
    return base::Error{"'" + folder_.string() + "' changed while it was read: " +
                       std::to_string(gone) + " chunks are gone; read it again"};
  }
  return {};
}

}  // namespace rochound::trace
