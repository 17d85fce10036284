// SPDX-License-Identifier: MIT
//
// The golden files, as isa/README.md describes them: named input vectors and cases.
// Single-threaded, used by isa_golden_test only; a malformed file throws std::runtime_error with
// its name and line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "softgpu/isa/single_wave.h"

namespace rochound::golden {

using softgpu::VectorRegister;
using softgpu::WaveState;

using InputVectors = std::map<std::string, VectorRegister>;

// One `out` line: what a register or a piece of memory holds afterwards.
struct Expectation {
  std::string what;                 // v5, a3, s10, vcc_lo, exec_hi, m0, scc, mode, mem, lds
  uint64_t address = 0;             // of mem and lds
  std::vector<std::string> tokens;  // per lane or dword; "." is unchanged
  uint32_t mask = 0xFFFFFFFF;       // the bits of a scalar that count
  std::string format;               // f16, f32 or f64 if the result is only close
  uint64_t ulp = 0;                 // how close, in units in the last place
  int absolute = 0;                 // or, if not 0, as a power of two
};

// One way to run a case: target, wave size, code, and the result.
struct CaseRun {
  std::string target;
  unsigned wave_size = 0;
  std::vector<uint8_t> code;
  std::string stopped;  // what the message must begin with; empty if the code runs to its end
  std::vector<Expectation> expectations;

  std::string Config() const { return target + "/" + std::to_string(wave_size); }
};

struct Case {
  std::string name;
  std::vector<std::string> assembly;
  std::vector<std::string> inputs;  // "v1=f32_a"
  std::vector<CaseRun> runs;

  std::string Mnemonic() const { return name.substr(0, name.rfind('.')); }
  std::string Assembly() const;
};

InputVectors ReadInputs(const std::string& path);
std::vector<Case> ReadCases(const std::string& path);

// Registers, LDS and (if `memory`) memory filled with values that depend on their place alone.
WaveState FilledState(bool memory);

// The state that a case starts from.
WaveState InitialState(const Case& c, const CaseRun& run, const InputVectors& vectors);

}  // namespace rochound::golden
