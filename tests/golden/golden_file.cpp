// SPDX-License-Identifier: MIT
#include "golden_file.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rochound::golden {
namespace {

constexpr uint64_t kMemoryBase = 0x200000;
constexpr size_t kMemoryBytes = 0x2000;

// One reader for both kinds of file: hands out lines without comments, knows where it is.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw std::runtime_error(path + ": cannot be read");
  }

  bool Next(std::string& line) {
    while (std::getline(file_, line)) {
      ++number_;
      if (!line.empty() && line[0] != '#') return true;
    }
    return false;
  }

  // The lines of lanes that follow a head begin with a blank.
  bool NextLanes(std::string& line) { return file_.peek() == ' ' && Next(line); }

  [[noreturn]] void Fail(const std::string& why) const {
    throw std::runtime_error(path_ + ":" + std::to_string(number_) + ": " + why);
  }

 private:
  std::string path_;
  std::ifstream file_;
  size_t number_ = 0;
};

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

uint64_t Hex(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 16); }

uint32_t Fill(uint32_t seed, uint32_t index) {
  uint32_t x = ((seed << 24) + index + 1) * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  return x ^ x >> 13;
}

void FillBytes(std::vector<uint8_t>& bytes, uint32_t seed) {
  for (uint32_t i = 0; i < bytes.size() / 4; ++i) {
    uint32_t value = Fill(seed, i);
    std::memcpy(&bytes[4 * i], &value, 4);
  }
}

VectorRegister ResolveVector(const std::string& text, const InputVectors& vectors) {
  VectorRegister result;
  unsigned long long first = 0, step = 0;
  if (std::sscanf(text.c_str(), "iota(%llx,%llx)", &first, &step) == 2 ||
      std::sscanf(text.c_str(), "all(%llx)", &first) == 1) {
    for (size_t lane = 0; lane < 64; ++lane)
      result[lane] = static_cast<uint32_t>(first + step * lane);
    return result;
  }
  auto found = vectors.find(text);
  if (found == vectors.end()) throw std::runtime_error("no input vector " + text);
  return found->second;
}

std::vector<uint8_t> Bytes(const std::string& hex) {
  std::vector<uint8_t> bytes;
  std::string digits;
  for (char c : hex)
    if (c != ',') digits += c;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(Hex(digits.substr(i, 2))));
  return bytes;
}

Expectation ReadExpectation(LineReader& reader, const std::string& line) {
  std::vector<std::string> words = Words(line);
  if (words.size() < 2) reader.Fail("out of nothing");
  Expectation out;
  out.what = words[1];
  if (out.what == "mem" || out.what == "lds") {
    out.address = Hex(words.at(2));
    out.tokens.assign(words.begin() + 3, words.end());
    return out;
  }
  if (out.what[0] != 'a' && !(out.what[0] == 'v' && out.what[1] != 'c')) {
    out.tokens.push_back(words.at(2));
    if (words.size() == 5 && words[3] == "mask") out.mask = static_cast<uint32_t>(Hex(words[4]));
    return out;
  }
  if (words.size() == 5 && words[2] == "ulp") {
    out.format = words[3];
    if (words[4].rfind("abs", 0) == 0)
      out.absolute = std::atoi(words[4].c_str() + 3);
    else
      out.ulp = std::strtoull(words[4].c_str(), nullptr, 10);
  }
  std::string lanes;
  while (reader.NextLanes(lanes)) {
    std::vector<std::string> row = Words(lanes);
    if (row.size() == 1 && row[0] == ".") row.assign(8, ".");
    if (row.size() != 8) reader.Fail("eight lanes expected");
    out.tokens.insert(out.tokens.end(), row.begin(), row.end());
  }
  if (out.tokens.size() != 64 && out.tokens.size() != 32) reader.Fail("lanes are missing");
  return out;
}

}  // namespace

std::string Case::Assembly() const {
  std::string text;
  for (const std::string& line : assembly) text += (text.empty() ? "" : "; ") + line;
  return text;
}

InputVectors ReadInputs(const std::string& path) {
  LineReader reader(path);
  InputVectors vectors;
  for (std::string line; reader.Next(line);) {
    std::vector<std::string> words = Words(line);
    if (words.size() != 2 || words[0] != "vector") reader.Fail("vector NAME expected");
    VectorRegister& values = vectors[words[1]];
    size_t lane = 0;
    while (reader.NextLanes(line))
      for (const std::string& word : Words(line))
        values.at(lane++) = static_cast<uint32_t>(Hex(word));
    if (lane != 64) reader.Fail("64 values expected");
  }
  return vectors;
}

std::vector<Case> ReadCases(const std::string& path) {
  LineReader reader(path);
  std::vector<Case> cases;
  size_t group = 0;        // first run that the next `out` belongs to
  bool expecting = false;  // an `out` was seen since the last `run`
  for (std::string line; reader.Next(line);) {
    std::string head = line.substr(0, line.find(' '));
    std::string rest = line.size() > head.size() ? line.substr(head.size() + 1) : "";
    if (head == "case") {
      cases.push_back({.name = rest, .assembly = {}, .inputs = {}, .runs = {}});
      group = 0;
      expecting = false;
      continue;
    }
    if (cases.empty()) reader.Fail("case expected");
    Case& c = cases.back();
    if (head == "asm") {
      c.assembly.push_back(rest);
    } else if (head == "in") {
      c.inputs = Words(rest);
    } else if (head == "run") {
      if (expecting) group = c.runs.size();
      expecting = false;
      std::vector<std::string> words = Words(rest);
      if (words.size() != 2) reader.Fail("run TARGET/WAVE CODE expected");
      size_t slash = words[0].find('/');
      CaseRun run;
      run.target = words[0].substr(0, slash);
      run.wave_size = static_cast<unsigned>(std::atoi(words[0].c_str() + slash + 1));
      run.code = Bytes(words[1]);
      c.runs.push_back(run);
    } else if (head == "out") {
      expecting = true;
      if (rest.rfind("stopped ", 0) == 0) {
        for (size_t i = group; i < c.runs.size(); ++i) c.runs[i].stopped = rest.substr(8);
        continue;
      }
      if (rest == "nothing") continue;
      Expectation out = ReadExpectation(reader, line);
      for (size_t i = group; i < c.runs.size(); ++i) c.runs[i].expectations.push_back(out);
    } else if (head == "end") {
      if (c.runs.empty()) reader.Fail("a case without a run");
    } else {
      reader.Fail("unknown line");
    }
  }
  return cases;
}

WaveState FilledState(bool memory) {
  WaveState state;
  for (uint32_t r = 0; r < 256; ++r) {
    for (uint32_t lane = 0; lane < 64; ++lane) {
      state.vgpr[r][lane] = Fill(1, r * 64 + lane);
      state.agpr[r][lane] = Fill(2, r * 64 + lane);
    }
  }
  for (uint32_t i = 0; i < state.sgpr.size(); ++i) state.sgpr[i] = Fill(3, i);
  FillBytes(state.lds, 4);
  if (memory) {
    state.memory[kMemoryBase].resize(kMemoryBytes);
    FillBytes(state.memory[kMemoryBase], 5);
  }
  return state;
}

WaveState InitialState(const Case& c, const CaseRun& run, const InputVectors& vectors) {
  static const WaveState plain = FilledState(false);
  static const WaveState with_memory = FilledState(true);
  bool memory = false;
  for (const std::string& input : c.inputs) memory |= input.rfind("mem", 0) == 0;
  WaveState state = memory ? with_memory : plain;
  state.exec = run.wave_size == 32 ? 0xFFFFFFFF : ~uint64_t{0};
  for (const std::string& input : c.inputs) {
    size_t equals = input.find('=');
    std::string key = input.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : input.substr(equals + 1);
    if (key == "mem") continue;
    if (key.rfind("mem@", 0) == 0 || key.rfind("lds@", 0) == 0) {
      VectorRegister data = ResolveVector(value, vectors);
      uint64_t address = Hex(key.substr(4));
      uint8_t* bytes = key[0] == 'l' ? &state.lds.at(address)
                                     : &state.memory[kMemoryBase].at(address - kMemoryBase);
      std::memcpy(bytes, data.data(), sizeof(data));
    } else if (key == "scratch") {
      size_t comma = value.find(',');
      state.scratch_base = Hex(value.substr(0, comma));
      state.scratch_bytes_per_lane = static_cast<uint32_t>(Hex(value.substr(comma + 1)));
    } else if (key == "exec") {
      state.exec = Hex(value) & (run.wave_size == 32 ? 0xFFFFFFFF : ~uint64_t{0});
    } else if (key == "vcc") {
      state.vcc = Hex(value);
    } else if (key == "m0") {
      state.m0 = static_cast<uint32_t>(Hex(value));
    } else if (key == "scc") {
      state.scc = Hex(value) != 0;
    } else if (key == "mode") {
      state.mode = static_cast<uint32_t>(Hex(value));
    } else if (key[0] == 'v') {
      state.vgpr.at(std::stoul(key.substr(1))) = ResolveVector(value, vectors);
    } else if (key[0] == 'a') {
      state.agpr.at(std::stoul(key.substr(1))) = ResolveVector(value, vectors);
    } else if (key[0] == 's') {
      state.sgpr.at(std::stoul(key.substr(1))) = static_cast<uint32_t>(Hex(value));
    } else {
      throw std::runtime_error(c.name + ": unknown input " + input);
    }
  }
  return state;
}

}  // namespace rochound::golden
