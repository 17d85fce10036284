// SPDX-License-Identifier: MIT
//
// A recorder around one entry of a runtime's table of functions. Wrapper<&Table::member, ...> puts
// its Enter function into the entry and keeps what was there; Enter passes the arguments on,
// returns what the runtime returned, and records the call when the agent records. Everything is
// derived from the member's type; the lists of members are generated from the installed headers.
//
// There is one recorder per function, so one table of each kind can be taken: who installs sees to
// it that a second copy of a runtime keeps its own functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "agent/calls/call.h"
#include "agent/calls/functions.h"
#include "agent/calls/values.h"

namespace rochound::agent {

namespace internal {

template <uint32_t kOut, size_t kIndex>
inline constexpr bool kIsOut = kIndex < 32 && ((kOut >> kIndex & 1) != 0);

// Packs the arguments of types A after each other; the sizes are known, so this is straight code.
template <uint32_t kOut, typename... A>
struct Packer {
  template <size_t... I>
  static constexpr size_t Words(std::index_sequence<I...>) {
    return (Argument<A, kIsOut<kOut, I>>::kWords + ... + 0);
  }
  static constexpr size_t kWords = Words(std::index_sequence_for<A...>{});

  template <size_t... I>
  static constexpr std::array<TypeName, sizeof...(A)> Types(std::index_sequence<I...>) {
    return {Argument<A, kIsOut<kOut, I>>::Name()...};
  }
  static constexpr std::array<TypeName, sizeof...(A)> kTypes =
      Types(std::index_sequence_for<A...>{});

  static constexpr bool kHasText = (Text<A> || ...);

  // Whether a word is known only when the call has returned.
  template <size_t... I>
  static constexpr bool ReadsBack(std::index_sequence<I...>) {
    return (Argument<A, kIsOut<kOut, I>>::kReadsBack || ...);
  }
  static constexpr bool kReadsBack = ReadsBack(std::index_sequence_for<A...>{});

  static void Put(uint64_t* words, bool good, const A&... values) {
    PutEach(words, good, std::index_sequence_for<A...>{}, values...);
  }

  static void Texts(const Call& call, const A&... values) {
    uint32_t index = 0;
    (TextOf(call, index++, values), ...);
  }

 private:
  template <size_t... I>
  static void PutEach([[maybe_unused]] uint64_t* words, [[maybe_unused]] bool good,
                      std::index_sequence<I...>, const A&... values) {
    ((Argument<A, kIsOut<kOut, I>>::Put(words, values, good),
      words += Argument<A, kIsOut<kOut, I>>::kWords),
     ...);
  }
  template <typename T>
  static void TextOf(const Call& call, uint32_t index, const T& value) {
    if constexpr (Text<T>) WriteTextArgument(call, index, value);
  }
};

}  // namespace internal

template <auto kMember, uint16_t kFunction, Domain kDomain, uint32_t kOut>
class Wrapper;

template <typename Table, typename R, typename... A, R (*Table::*kMember)(A...), uint16_t kFunction,
          Domain kDomain, uint32_t kOut>
class Wrapper<kMember, kFunction, kDomain, kOut> {
 public:
  // Takes the entry, unless it is empty or already ours. Set-up only, while other threads may call.
  static void Install(Table* table) {
    R (** const entry)(A...) = &(table->*kMember);
    R (*const current)(A...) = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (current == nullptr || current == &Enter) return;
    next_ = current;
    __atomic_store_n(entry, &Enter, __ATOMIC_RELEASE);
  }

  // Where the entry is in its table, in bytes: what a pointer to a member is made of.
  static size_t Offset() {
    const auto member = kMember;
    size_t offset = 0;
    static_assert(sizeof(member) == sizeof(offset));
    std::memcpy(&offset, &member, sizeof(offset));
    return offset;
  }

  static constexpr FunctionRow Row(const char* domain, const char* name, const char* arguments) {
    FunctionRow row{kFunction,           domain,       name, arguments,
                    Pack::kTypes.data(), sizeof...(A), {},   false};
    if constexpr (std::is_void_v<R>) {
      row.result = internal::Named("void", "");
    } else {
      row.result = Result<R>::Name();
      row.wide_result = Result<R>::kWide;
    }
    return row;
  }

 private:
  using Pack = internal::Packer<kOut, A...>;
  using Function = R (*)(A...);

  static R Enter(A... arguments) {
    Call call;
    if (!BeginCall<kDomain>(&call, kFunction)) return next_(arguments...);
    if constexpr (Pack::kHasText) Pack::Texts(call, arguments...);
    // A collective may wait for other ranks inside its call, for ever. What it is must be in the log
    // then; what is known only afterwards is written over it.
    constexpr bool kEarly = kDomain == Domain::kRccl;
    if constexpr (kEarly)
      Write<Pack::kWords>(call, [&](uint64_t* words) { Pack::Put(words, false, arguments...); });
    if constexpr (std::is_void_v<R>) {
      next_(arguments...);
      const uint64_t end = trace::ReadTsc();
      if constexpr (!kEarly)
        Write<Pack::kWords>(call, [&](uint64_t* words) { Pack::Put(words, false, arguments...); });
      EndCall(call, end, 0);
    } else {
      const R result = next_(arguments...);
      const uint64_t end = trace::ReadTsc();
      constexpr size_t kMore = Result<R>::kWide ? Value<R>::kWords : 0;
      if constexpr (!kEarly || Pack::kReadsBack || kMore != 0)
        Write<Pack::kWords + kMore>(call, [&](uint64_t* words) {
          Pack::Put(words, Result<R>::Good(result), arguments...);
          if constexpr (kMore != 0) Value<R>::Put(words + Pack::kWords, result);
        });
      EndCall(call, end, Result<R>::Word(result));
      return result;
    }
  }

  template <size_t kWords, typename Put>
  static void Write(const Call& call, Put put) {
    if constexpr (kWords != 0 && kWords <= kWordsPerRecord) {
      WriteFewWords<kWords>(call, put);
    } else if constexpr (kWords != 0) {
      uint64_t words[kWords];
      put(words);
      WriteWords(call, words, kWords);
    }
  }

  inline static constinit Function next_ = nullptr;
};

}  // namespace rochound::agent
