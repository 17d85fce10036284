// SPDX-License-Identifier: MIT
//
// The environment that brings the agent into a program and tells it what to record. Made by
// `rochound run` before it starts the program. Pure but for looking whether files are there; any
// thread. What the user has set for himself is kept, but for variables that profilers leave behind
// for the processes they start. docs/how-it-loads.md has all ways into a program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rochound::launch {

using Environment = std::map<std::string, std::string>;

// This process's variables.
Environment CurrentEnvironment();
// NAME=value, as exec wants them.
std::vector<std::string> Lines(const Environment& environment);

struct Recording {
  std::filesystem::path agent;          // librochound_agent.so
  std::filesystem::path log_directory;  // absolute
  bool hip = true;
  bool hsa = false;
  bool stacks = false;
  bool start_off = false;
  std::string last;                 // "30s" or "64MiB"; empty: keep all
  std::string delay;                // "5s"; empty: at once
  std::string duration;             // "10s"; empty: to the end
  bool fault_bundle = false;        // capture the launch that a GPU failed at
  std::string overrides;            // "cu=72"; empty: answers as they are
  std::filesystem::path swap_list;  // what the kernel cache holds; empty: no swapping
  bool swap_shared = false;         // others may write to the kernel cache
  bool swap_ab = false;             // original and candidate alternate
  uint64_t swap_verify = 0;         // launches of each original that are captured, to be compared
  std::string range;                // a roctx range's name; empty: everywhere
  std::string kernels;              // a regular expression of what is kept; empty: all
  std::string calls;                // likewise
};

// Adds what the recording needs. The remarks are for the user: what of his was changed, and why.
std::vector<std::string> SetRecording(const Recording& recording, Environment* environment);

// Whether the agent understands it as overrides: cu=72,clock=2250,memory=16,name=Text.
bool IsOverrides(const std::string& text);

}  // namespace rochound::launch
