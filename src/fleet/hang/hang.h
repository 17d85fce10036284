// SPDX-License-Identifier: MIT
//
// Who is waited for: from a card of each rank, which ranks are inside a collective, which are
// missing, and what those do instead. Cards are what daemons answer; they are read without the help
// of the processes, which may be stuck. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rochound::fleet {

struct Card {
  std::string host;
  int64_t rank = -1;
  int64_t ranks = -1;
  int64_t process = 0;
  std::string state;  // running, stopped, uninterruptible, ended
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
  };
  std::vector<Call> calls;
};

// Of the daemons' answers; what is no card is left out.
std::vector<Card> CardsOf(const std::vector<nlohmann::json>& answers);

struct HangReport {
  struct Rank {
    int64_t rank = -1;
    std::string host;
    int64_t process = 0;
    bool inside = false;   // a collective
    bool missing = false;  // waited for
    std::string doing;     // in words
    uint64_t collectives = 0;
  };
  size_t cards = 0;
  std::string conclusion;
  std::vector<Rank> ranks;             // by rank
  std::vector<int64_t> not_answering;  // ranks of the job without a card

  nlohmann::json AsJson() const;
  std::string AsText() const;
};

HangReport ExplainHang(const std::vector<Card>& cards);

}  // namespace rochound::fleet
