// SPDX-License-Identifier: MIT
//
// Where a model is asked: any server that speaks OpenAI's chat completions, on this machine or
// elsewhere. The only place of rochound that opens a connection to another machine, by libcurl,
// which is loaded when it is needed. Post sends what it is given and nothing else, follows no
// redirection, and reads at most kMostAnswer bytes. One thread; blocks for as long as the limit
// says. The key is in memory only: not in this process's variables after TakeEndpoint, in no error.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/result.h"

namespace rochound::optimize {

inline constexpr size_t kMostAnswer = size_t{1} << 20;

struct Endpoint {
  std::string url;  // "https://host/v1"; /chat/completions is added
  std::string model;
  std::string key;  // empty: the server wants none
};

// From ROCHOUND_LLM_URL, ROCHOUND_LLM_MODEL and ROCHOUND_LLM_KEY. The key is removed from the
// environment, so that no program that is started later has it.
base::Result<Endpoint> TakeEndpoint();

// What is wrong with it; empty: nothing. A key is sent to other machines by https only.
std::string ProblemWith(const Endpoint& endpoint);

// The text without the key: a server may send back what it was sent.
std::string WithoutKey(const Endpoint& endpoint, std::string text);

// The body of a successful answer. Errors say what happened, without the key.
base::Result<std::string> Post(const Endpoint& endpoint, const std::string& body,
                               std::chrono::milliseconds limit);

}  // namespace rochound::optimize
