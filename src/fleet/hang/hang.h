// SPDX-License-Identifier: MIT
//
// Who is waited for: from a card of each rank, which operation of RCCL ranks wait in, who has not
// come to it, and what those do instead. Cards are what daemons answer; they are read without the
// help of the processes, which may be stuck. Two looks, a few seconds apart, tell waiting from
// working. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rochound::fleet {

// An operation of RCCL, as a rank called it.
struct Operation {
  uint64_t number = 0;  // in its line, from 1
  std::string function;
  uint64_t count = 0;
  int64_t datatype = -1, operation = -1, root = -1;
  std::string state;  // calling, called (not launched yet), in flight, complete
  uint64_t since_ns = 0;
  std::string waits_for;  // the kernel before its own in the same queue; empty: none
};

// What is counted together: a communicator's collectives, or messages to or from one rank of it.
struct Line {
  std::string kind;  // collective, send, receive
  int64_t peer = -1;
  uint64_t calls = 0;
  std::vector<Operation> recent;
};

struct Communicator {
  std::string id;  // the same on all ranks; empty: not known
  int64_t ranks = -1, rank = -1;
  std::string parent;  // of which it was split
  int64_t key = 0;     // which decides its rank then
  std::vector<Line> lines;
};

struct Card {
  std::string host;
  int64_t rank = -1;
  int64_t ranks = -1;
  int64_t process = 0;
  std::string state;  // running, stopped, uninterruptible, ended
  uint64_t dispatches = 0, launches = 0;
  uint64_t collectives = 0;
  uint64_t in_flight = 0;
  struct Launch {
    std::string kernel;
    uint64_t since_ns = 0;
  };
  std::vector<Launch> oldest;
  struct Call {
    std::string function;
    uint64_t since_ns = 0;
    // A call of RCCL: on which communicator, and what.
    bool rccl = false;
    std::string communicator;
    int64_t ranks = -1, rank = -1;
    std::string kind;  // of the line; empty: it makes or ends a communicator, or ends a group
    int64_t peer = -1;
    std::optional<Operation> operation;
  };
  std::vector<Call> calls;
  std::vector<Communicator> communicators;
  bool exact = true;  // all its operations were counted
  std::string program, waits_in;
  uint64_t processor_ns = 0;
  uint64_t now_ns = 0;  // when the daemon looked
};

// More ranks than this no job has. A program's environment says how many there are, and every one
// that is not there is named in the report.
inline constexpr int64_t kMostRanks = 1 << 17;

// Of the daemons' answers; what is no card is left out.
std::vector<Card> CardsOf(const std::vector<nlohmann::json>& answers);

enum class HangVerdict {
  kNobodySeen,  // no card
  kNoHang,      // nobody waits for long, or all move
  kLate,        // ranks wait for one that works
  kWaitedFor,   // ranks wait for one that does not move
  kDifferent,   // ranks called different operations where one was due
  kCrossed,     // ranks wait for each other, in different operations
  kAllInside,   // all are in the same operation
  kStuckAlone,  // nobody waits in an operation, but a rank does not move
};
const char* HangVerdictName(HangVerdict verdict);

struct HangReport {
  struct Rank {
    int64_t rank = -1;
    std::string host;
    int64_t process = 0;
    bool inside = false;   // waits in an operation
    bool missing = false;  // waited for, or has called something else than the others
    std::string doing;     // in words
    uint64_t collectives = 0;
  };
  HangVerdict verdict = HangVerdict::kNobodySeen;
  size_t cards = 0;
  std::string conclusion;
  std::vector<Rank> ranks;             // by rank
  std::vector<int64_t> not_answering;  // ranks of the job without a card
  std::vector<std::string> doubts;     // what makes this less than certain

  // A rank is to blame, or several are.
  bool stuck() const;
  nlohmann::json AsJson() const;
  std::string AsText() const;
};

// `before`: the cards of some seconds ago; empty: there was one look only, and what takes long
// counts as stuck.
HangReport ExplainHang(const std::vector<Card>& cards, const std::vector<Card>& before = {});

// The same from kernels alone, where no calls of RCCL were recorded: its kernels are counted, and
// ranks that have launched fewer are missing.
HangReport ExplainByKernels(const std::vector<const Card*>& cards);

// In flight, or in a call, for less than this is at work, not waiting.
inline constexpr uint64_t kLongNs = 2'000'000'000;

// What a rank does, from its card alone. `busy`: the part of the time between two looks that it
// used a processor; negative: not known.
std::string DescribeRank(const Card& card, double busy = -1);
std::string NameRanks(const std::vector<int64_t>& ranks);

}  // namespace rochound::fleet
