// SPDX-License-Identifier: MIT
#include "agent/calls/hip_traced_functions.h"

#include <array>
#include <tuple>
#include <type_traits>

#include "agent/calls/wrapper.h"

namespace rochound::agent {

namespace {

template <uint32_t kOut, typename Tuple>
struct PackerOf;
template <uint32_t kOut, typename... A>
struct PackerOf<kOut, std::tuple<A...>> {
  using Pack = internal::Packer<kOut, std::remove_cvref_t<A>...>;
};

// Get: a lambda without captures from the data to a tuple of references to the function's
// arguments.
template <uint32_t kOut, typename Get>
constexpr TracedFunction Describe(const char* name, const char* arguments, Get) {
  using Tuple = std::invoke_result_t<Get, const hip_api_data_t&>;
  using Pack = typename PackerOf<kOut, Tuple>::Pack;
  static_assert(Pack::kWords <= kMaxTracedWords);
  TracedFunction result;
  result.name = name;
  result.arguments = arguments;
  result.types = Pack::kTypes.data();
  result.count = std::tuple_size_v<Tuple>;
  result.words = Pack::kWords;
  result.put = [](const hip_api_data_t& data, uint64_t* words, bool good) {
    std::apply([&](const auto&... values) { Pack::Put(words, good, values...); }, Get{}(data));
  };
  if constexpr (Pack::kHasText) {
    result.texts = [](const hip_api_data_t& data, const Call& call) {
      std::apply([&](const auto&... values) { Pack::Texts(call, values...); }, Get{}(data));
    };
  }
  return result;
}

constexpr std::array<TracedFunction, kLastTracedId + 1> kFunctions = [] {
  std::array<TracedFunction, kLastTracedId + 1> all{};
#define ROCHOUND_HIP_TRACED(function, id, names, outs, ...)                   \
  all[id] = Describe<outs>(#function, names, [](const hip_api_data_t& data) { \
    static_cast<void>(data);                                                  \
    __VA_OPT__(const auto& args = data.args.function;)                        \
    return std::tie(__VA_ARGS__);                                             \
  });
#include "agent/calls/hip_traced.inc"
#undef ROCHOUND_HIP_TRACED
  return all;
}();

}  // namespace

const TracedFunction& Traced(uint32_t id) { return kFunctions[id]; }

}  // namespace rochound::agent
