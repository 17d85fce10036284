// SPDX-License-Identifier: MIT
//
// What a model is asked, from what is known about a kernel. Captured data never is in it: no
// values of memory or arguments, no addresses, and of verdicts only words that are chosen from a
// few, and figures of two digits (VerdictForModel), so that a kernel cannot be written to send data
// out by how it fails. Pure; any thread. The same facts give the same request, byte by byte: a run
// that goes on finds its answers by it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rochound::optimize {

struct KernelFacts {
  std::string kernel, demangled;
  std::string target;  // "gfx1030"
  std::string gpu;     // the software GPU's name
  std::vector<std::string> shapes;
  std::string source;
  std::string tolerance;  // as --verify has it; empty: bit by bit
  // Texts; empty: not known.
  std::string instructions, resources, roofline, limit, probes;
};

struct ModelMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

// The fastest candidate so far.
struct BestSoFar {
  std::string source;
  double speedup = 0, cost = 0;
};

// attempts: what became of earlier answers, oldest first.
std::vector<ModelMessage> MakePrompt(const KernelFacts& facts,
                                     const std::vector<std::string>& attempts,
                                     const BestSoFar* best);
// What is added for a source that does not build: itself, and what the compiler said.
void AddRepair(const std::string& source, const std::string& log,
               std::vector<ModelMessage>* messages);

// A verdict (VerdictJson) in words that may leave the machine.
std::string VerdictForModel(const nlohmann::ordered_json& verdict);

// The body of the request.
std::string RequestBody(const std::string& model, double temperature,
                        const std::vector<ModelMessage>& messages);

// The start and the end of a text that is too long.
std::string Middle(const std::string& text, size_t most);

}  // namespace rochound::optimize
