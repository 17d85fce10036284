// SPDX-License-Identifier: MIT
//
// Every instruction of the software GPU against the golden files: one test per file, and one per
// target that no implemented instruction is without a case. The expected values come from
// tools/isa_model, which shares no code with the interpreter; the build makes the files with it.
//
// ROCHOUND_GOLDEN_VERBOSE=1 prints every difference instead of the first ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "golden_file.h"
#include "softgpu/isa/aliases.h"
#include "softgpu/isa/tables.h"

namespace rochound::golden {
namespace {

const std::string kFolder = ROCHOUND_GOLDEN_FOLDER;        // what the model gave
const std::string kCommitted = ROCHOUND_GOLDEN_COMMITTED;  // tests/golden/isa
constexpr size_t kDifferencesShown = 6;                    // per run
constexpr size_t kRunsShown = 25;                          // per file

const InputVectors& Vectors() {
  static const InputVectors vectors = ReadInputs(kFolder + "/inputs.txt");
  return vectors;
}

// Lines "gfx942 v_foo"; comments begin with #.
std::set<std::string> ReadList(const std::string& path) {
  std::set<std::string> result;
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') result.insert(line);
  return result;
}

// Instructions that the interpreter refuses, with cases waiting for them.
const std::set<std::string>& NotImplemented() {
  static const std::set<std::string> listed = ReadList(kCommitted + "/not_implemented.txt");
  return listed;
}

std::string HexText(uint64_t value, int digits = 8) {
  char text[32];
  std::snprintf(text, sizeof(text), "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

bool IsQuietNan(uint32_t value, const std::string& kind) {
  if (kind == "f32") return (value & 0x7FC00000) == 0x7FC00000;
  if (kind == "f64") return (value & 0x7FF80000) == 0x7FF80000;
  if (kind == "bf16") return (value & 0x7FC0) == 0x7FC0;
  return (value & 0x7E00) == 0x7E00;  // f16
}

// A token is eight characters, one per nibble; see isa/README.md.
bool Matches(const std::string& token, uint32_t value) {
  if (token == "NNNNNNNN") return IsQuietNan(value, "f32");
  if (token == "mmmmmmmm") return IsQuietNan(value, "f64");
  std::string text = HexText(value);
  for (size_t half = 0; half < 8; half += 4) {
    std::string part = token.substr(half, 4);
    uint32_t bits = half == 0 ? value >> 16 : value & 0xFFFF;
    if (part == "nnnn") {
      if (!IsQuietNan(bits, "f16")) return false;
    } else if (part == "wwww") {
      if (!IsQuietNan(bits, "bf16")) return false;
    } else {
      for (size_t i = half; i < half + 4; ++i)
        if (token[i] != '?' && token[i] != text[i]) return false;
    }
  }
  return true;
}

bool IsHex(const std::string& token) {
  return token.find_first_not_of("0123456789abcdef") == std::string::npos;
}

double HalfToDouble(uint32_t bits) {
  double sign = bits & 0x8000 ? -1 : 1;
  int exponent = bits >> 10 & 31;
  double mantissa = bits & 0x3FF;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

double ToDouble(const std::string& format, uint64_t bits) {
  if (format == "f16") return HalfToDouble(static_cast<uint32_t>(bits & 0xFFFF));
  if (format == "f64") {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  float value;
  uint32_t low = static_cast<uint32_t>(bits);
  std::memcpy(&value, &low, 4);
  return value;
}

// Numbers that order as the floats do, one per representable value.
int64_t Ordinal(const std::string& format, uint64_t bits) {
  int width = format == "f16" ? 16 : format == "f32" ? 32 : 64;
  uint64_t sign = uint64_t{1} << (width - 1);
  uint64_t magnitude = bits & (sign - 1);
  return bits & sign ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
}

bool Close(const Expectation& out, uint64_t expected, uint64_t actual) {
  double a = ToDouble(out.format, expected);
  double b = ToDouble(out.format, actual);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b) || a == 0) {
    if (out.absolute == 0 || std::isinf(a) || std::isinf(b)) return expected == actual;
  }
  if (out.absolute != 0) return std::fabs(a - b) <= std::ldexp(1.0, out.absolute);
  int64_t distance = Ordinal(out.format, expected) - Ordinal(out.format, actual);
  return static_cast<uint64_t>(distance < 0 ? -distance : distance) <= out.ulp;
}

// Compares a result with what a run expects. Whatever is not mentioned must be as it was.
class Comparison {
 public:
  Comparison(const CaseRun& run, const WaveState& before, const WaveState& actual)
      : run_(run), wanted_(before), actual_(actual) {}

  std::vector<std::string> Differences() {
    for (const Expectation& out : run_.expectations) Apply(out);
    CompareVectors("v", wanted_.vgpr, actual_.vgpr);
    CompareVectors("a", wanted_.agpr, actual_.agpr);
    for (size_t i = 0; i < wanted_.sgpr.size(); ++i)
      Scalar("s" + std::to_string(i), wanted_.sgpr[i], actual_.sgpr[i]);
    Scalar("vcc", wanted_.vcc, actual_.vcc);
    Scalar("exec", wanted_.exec, actual_.exec);
    Scalar("m0", wanted_.m0, actual_.m0);
    Scalar("scc", wanted_.scc, actual_.scc);
    Scalar("mode", wanted_.mode, actual_.mode);
    CompareBytes("lds", 0, wanted_.lds, actual_.lds);
    for (const auto& [base, bytes] : wanted_.memory)
      CompareBytes("mem", base, bytes, actual_.memory.at(base));
    return differences_;
  }

 private:
  void Add(const std::string& text) { differences_.push_back(text); }

  void Apply(const Expectation& out) {
    if (out.what == "mem" || out.what == "lds") return ApplyBytes(out);
    if ((out.what[0] == 'v' && out.what[1] != 'c') || out.what[0] == 'a') return ApplyVector(out);
    uint32_t value = static_cast<uint32_t>(std::strtoull(out.tokens[0].c_str(), nullptr, 16));
    auto put = [&](uint32_t actual) { return (value & out.mask) | (actual & ~out.mask); };
    auto put_half = [&](uint64_t& pair, uint64_t actual, int shift) {
      uint64_t half = put(static_cast<uint32_t>(actual >> shift));
      pair = (pair & ~(uint64_t{0xFFFFFFFF} << shift)) | half << shift;
    };
    if (out.what == "vcc_lo") return put_half(wanted_.vcc, actual_.vcc, 0);
    if (out.what == "vcc_hi") return put_half(wanted_.vcc, actual_.vcc, 32);
    if (out.what == "exec_lo") return put_half(wanted_.exec, actual_.exec, 0);
    if (out.what == "exec_hi") return put_half(wanted_.exec, actual_.exec, 32);
    if (out.what == "m0") {
      wanted_.m0 = put(actual_.m0);
    } else if (out.what == "scc") {
      wanted_.scc = value != 0;
    } else if (out.what == "mode") {
      wanted_.mode = value;
    } else {
      size_t index = std::stoul(out.what.substr(1));
      wanted_.sgpr.at(index) = put(actual_.sgpr.at(index));
    }
  }

  void ApplyVector(const Expectation& out) {
    size_t index = std::stoul(out.what.substr(1));
    auto& bank = out.what[0] == 'a' ? wanted_.agpr : wanted_.vgpr;
    const auto& actual = out.what[0] == 'a' ? actual_.agpr : actual_.vgpr;
    for (size_t lane = 0; lane < std::min<size_t>(run_.wave_size, out.tokens.size()); ++lane) {
      const std::string& token = out.tokens[lane];
      if (token == ".") continue;
      uint32_t got = actual.at(index)[lane];
      if (Matches(token, got) || (IsHex(token) && CloseLane(out, index, lane, token))) {
        bank[index][lane] = got;
      } else {
        Add(out.what + " lane " + std::to_string(lane) + ": want " + token + " got " +
            HexText(got));
        bank[index][lane] = got;
      }
    }
  }

  // A 64 bit number lies in an even and an odd register, each with an expectation of its own.
  bool CloseLane(const Expectation& out, size_t index, size_t lane, const std::string& token) {
    if (out.format.empty()) return false;
    uint64_t expected = std::strtoull(token.c_str(), nullptr, 16);
    uint64_t got = actual_.vgpr.at(index)[lane];
    if (out.format == "f16") {
      return (expected >> 16 == got >> 16 || token.substr(0, 4) == "????") &&
             Close(out, expected & 0xFFFF, got & 0xFFFF);
    }
    if (out.format == "f32") return Close(out, expected, got);
    uint64_t wanted_pair = 0, got_pair = 0;
    for (const Expectation& other : run_.expectations) {
      if (other.what[0] != 'v' || other.what[1] == 'c' || other.format != "f64") continue;
      size_t other_index = std::stoul(other.what.substr(1));
      if ((other_index | 1) != (index | 1) || other.tokens[lane] == ".") continue;
      int shift = other_index & 1 ? 32 : 0;
      wanted_pair |= std::strtoull(other.tokens[lane].c_str(), nullptr, 16) << shift;
      got_pair |= uint64_t{actual_.vgpr.at(other_index)[lane]} << shift;
    }
    return Close(out, wanted_pair, got_pair);
  }

  void ApplyBytes(const Expectation& out) {
    std::vector<uint8_t>* wanted = &wanted_.lds;
    const std::vector<uint8_t>* actual = &actual_.lds;
    uint64_t offset = out.address;
    if (out.what == "mem") {
      auto region = std::prev(wanted_.memory.upper_bound(out.address));
      wanted = &region->second;
      actual = &actual_.memory.at(region->first);
      offset -= region->first;
    }
    for (size_t i = 0; i < out.tokens.size(); ++i) {
      uint32_t got;
      std::memcpy(&got, &actual->at(offset + 4 * i), 4);
      if (!Matches(out.tokens[i], got)) {
        Add(out.what + " " + HexText(out.address + 4 * i, 1) + ": want " + out.tokens[i] + " got " +
            HexText(got));
      }
      std::memcpy(&wanted->at(offset + 4 * i), &got, 4);
    }
  }

  void CompareVectors(const std::string& name, const std::vector<VectorRegister>& wanted,
                      const std::vector<VectorRegister>& actual) {
    for (size_t r = 0; r < wanted.size(); ++r) {
      // In wave32 the upper lanes do not exist.
      if (std::memcmp(wanted[r].data(), actual[r].data(), 4 * run_.wave_size) == 0) continue;
      for (size_t lane = 0; lane < run_.wave_size; ++lane) {
        if (wanted[r][lane] != actual[r][lane]) {
          Add(name + std::to_string(r) + " lane " + std::to_string(lane) + ": must stay " +
              HexText(wanted[r][lane]) + " got " + HexText(actual[r][lane]));
        }
      }
    }
  }

  void Scalar(const std::string& name, uint64_t wanted, uint64_t actual) {
    if (wanted != actual) Add(name + ": want " + HexText(wanted, 1) + " got " + HexText(actual, 1));
  }

  void CompareBytes(const std::string& name, uint64_t base, const std::vector<uint8_t>& wanted,
                    const std::vector<uint8_t>& actual) {
    if (wanted == actual) return;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] != actual[i]) {
        Add(name + " byte " + HexText(base + i, 1) + ": must stay " + HexText(wanted[i], 2) +
            " got " + HexText(actual[i], 2));
      }
    }
  }

  const CaseRun& run_;
  WaveState wanted_;
  const WaveState& actual_;
  std::vector<std::string> differences_;
};

// The values that the inputs give to the lane that a difference names.
std::string InputsOfLane(const Case& c, const WaveState& before, const std::string& difference) {
  size_t at = difference.find(" lane ");
  if (at == std::string::npos) return "";
  size_t lane = std::stoul(difference.substr(at + 6));
  std::string text;
  for (const std::string& input : c.inputs) {
    if (input[0] == 'v' && std::isdigit(input[1])) {
      std::string name = input.substr(0, input.find('='));
      text += " " + name + "=" + HexText(before.vgpr[std::stoul(name.substr(1))][lane]);
    }
  }
  return text.empty() ? "" : "  with" + text;
}

struct Counts {
  size_t runs = 0;
  size_t failed = 0;
  size_t skipped = 0;
};

// An empty text if the run is right.
std::string RunOne(const Case& c, const CaseRun& run, bool& skipped) {
  WaveState before = InitialState(c, run, Vectors());
  WaveState state = before;
  softgpu::SingleWaveResult result =
      softgpu::RunSingleWave(run.target, run.wave_size, run.code, state);
  skipped = false;
  bool refused = result.stopped.rfind("not implemented", 0) == 0;
  bool listed = NotImplemented().count(run.target + " " + c.Mnemonic()) != 0;
  if (refused && listed) {
    skipped = true;
    return "";
  }
  std::vector<std::string> differences;
  if (!run.stopped.empty()) {
    if (result.stopped.rfind(run.stopped, 0) == 0) return "";
    differences.push_back("must stop with \"" + run.stopped + "\", got \"" + result.stopped + "\"");
  } else if (!result.stopped.empty()) {
    differences.push_back(result.stopped);
  } else {
    differences = Comparison(run, before, state).Differences();
    if (differences.empty() && listed)
      differences.push_back("listed in not_implemented.txt, but it works: take it off");
  }
  if (differences.empty()) return "";
  std::string text = c.name + " " + run.Config() + ": " + c.Assembly() + "\n";
  for (const std::string& input : c.inputs)
    text += (&input == &c.inputs[0] ? "  in " : " ") + input;
  if (!c.inputs.empty()) text += "\n";
  size_t shown = std::getenv("ROCHOUND_GOLDEN_VERBOSE") != nullptr ? 1000 : kDifferencesShown;
  for (size_t i = 0; i < std::min(shown, differences.size()); ++i)
    text += "  " + differences[i] + InputsOfLane(c, before, differences[i]) + "\n";
  if (differences.size() > shown)
    text += "  and " + std::to_string(differences.size() - shown) + " more\n";
  return text;
}

class IsaGolden : public testing::TestWithParam<std::string> {};

TEST_P(IsaGolden, MatchesTheModel) {
  Counts counts;
  std::set<std::string> skipped_mnemonics;
  size_t shown = std::getenv("ROCHOUND_GOLDEN_VERBOSE") != nullptr ? 1000000 : kRunsShown;
  for (const Case& c : ReadCases(kFolder + "/" + GetParam() + ".golden")) {
    for (const CaseRun& run : c.runs) {
      bool skipped = false;
      std::string text = RunOne(c, run, skipped);
      ++counts.runs;
      counts.skipped += skipped;
      if (skipped) skipped_mnemonics.insert(run.target + " " + c.Mnemonic());
      if (text.empty()) continue;
      if (++counts.failed <= shown) ADD_FAILURE() << text;
    }
  }
  EXPECT_EQ(counts.failed, 0u);
  EXPECT_GT(counts.runs, 0u);
  std::printf("%s: %zu runs, %zu wrong, %zu skipped as not implemented\n", GetParam().c_str(),
              counts.runs, counts.failed, counts.skipped);
  for (const std::string& name : skipped_mnemonics) std::printf("  skipped: %s\n", name.c_str());
}

// By the committed list, not by what is in the folder: a file that was not made fails.
std::vector<std::string> GoldenFiles() {
  std::vector<std::string> names;
  for (const std::string& line : ReadList(kCommitted + "/files.txt")) {
    std::filesystem::path name = line.substr(0, line.find(' '));
    if (name.extension() == ".golden") names.push_back(name.stem().string());
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(File, IsaGolden, testing::ValuesIn(GoldenFiles()),
                         [](const auto& param) { return param.param; });

// The encodings of one instruction are one instruction here.
std::string Base(const std::string& mnemonic) {
  for (std::string suffix : {"_e64_dpp", "_e32", "_e64", "_dpp8", "_dpp", "_sdwa"}) {
    if (mnemonic.size() > suffix.size() &&
        mnemonic.compare(mnemonic.size() - suffix.size(), suffix.size(), suffix) == 0)
      return mnemonic.substr(0, mnemonic.size() - suffix.size());
  }
  return mnemonic;
}

class IsaCoverage : public testing::TestWithParam<const char*> {};

TEST_P(IsaCoverage, EveryImplementedInstructionHasACase) {
  std::set<std::string> covered;
  for (const std::string& file : GoldenFiles()) {
    for (const Case& c : ReadCases(kFolder + "/" + file + ".golden"))
      for (const CaseRun& run : c.runs)
        if (run.target == GetParam()) covered.insert(c.Mnemonic());
  }
  // Targets share rows: some are for instructions that this one does not have.
  std::set<std::string> absent = ReadList(kFolder + "/absent.txt");
  std::set<std::string> missing;
  std::set<std::string> implemented;
  for (const std::string& mnemonic : softgpu::ImplementedMnemonics(GetParam())) {
    std::string base = Base(mnemonic);
    if (absent.count(std::string(GetParam()) + " " + base) != 0) continue;
    implemented.insert(base);
    if (covered.count(base) == 0) missing.insert(base);
  }
  // The assembler takes an old name for a new one: a case of either is one of both.
  const softgpu::Architecture* architecture = softgpu::FindArchitecture(GetParam());
  ASSERT_NE(architecture, nullptr);
  for (const softgpu::Alias& alias : softgpu::AliasesOf(*architecture)) {
    bool is_covered = covered.count(alias.mnemonic) != 0 || covered.count(alias.first_name) != 0;
    if (!is_covered) continue;
    missing.erase(alias.mnemonic);
    missing.erase(alias.first_name);
  }
  EXPECT_GT(implemented.size(), 0u);
  std::string list;
  for (const std::string& name : missing) list += " " + name;
  EXPECT_TRUE(missing.empty()) << missing.size() << " of " << implemented.size()
                               << " implemented instructions have no golden case:" << list;
  std::set<std::string> refused;
  for (const std::string& name : covered)
    if (implemented.count(name) == 0) refused.insert(name);
  std::printf("%s: %zu instructions implemented, %zu with cases\n", GetParam(), implemented.size(),
              implemented.size() - missing.size());
  for (const std::string& name : refused) std::printf("  has cases but no row: %s\n", name.c_str());
}

INSTANTIATE_TEST_SUITE_P(Target, IsaCoverage,
                         testing::Values("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100",
                                         "gfx1201"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace rochound::golden
