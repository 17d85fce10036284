// SPDX-License-Identifier: MIT
//
// What the interpreter makes of code that others compiled. coverage.py drives it and makes
// docs/softgpu-coverage.md; by hand it answers "which instructions of this file are missing":
//
//   isa_coverage objects FILE...  each instruction form in AMD GPU code objects, and why it is
//                                 refused, as JSON: {target: [{mnemonics, shape, count, ...}]}
//   isa_coverage refused FILE...  the refused ones alone, as text
//       --functions N before the files: at most N functions of each, spread over it
//   isa_coverage forms TARGET     the same judgement for "WAVE WORDS" lines of the standard input
//   isa_coverage llvm TARGET      every mnemonic that LLVM knows, with an encoding of it
//   isa_coverage rows TARGET      those mnemonics of the standard input that have no row
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "code_object.h"
#include "llvm_instructions.h"
#include "softgpu/isa/disassembler.h"
#include "softgpu/isa/lower.h"
#include "softgpu/isa/tables.h"

namespace rochound::coverage {
namespace {

using softgpu::Architecture;

constexpr size_t kWindow = 32;

std::string Hex(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i + 4 <= size; i += 4) {
    uint32_t word;
    std::memcpy(&word, bytes + i, 4);
    char buffer[16];
    std::snprintf(buffer, sizeof(buffer), "%08x", word);
    text += buffer;
  }
  return text;
}

// The text with numbers taken out: what the parser and the lowering see as one form.
std::string Shape(const std::string& text) {
  std::string shape;
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    bool starts_word =
        i == 0 || !(std::isalnum(static_cast<unsigned char>(text[i - 1])) || text[i - 1] == '_');
    auto is_operand = [&](const char* name) {
      size_t length = std::strlen(name);
      return starts_word && i > 0 && text.compare(i, length, name) == 0;
    };
    if (std::isspace(c)) {
      if (!shape.empty() && shape.back() != ' ') shape += ' ';
      ++i;
    } else if (is_operand("vcc") || is_operand("exec") || is_operand("ttmp") || is_operand("m0")) {
      // Scalar registers all, and read alike.
      shape += "s#";
      while (i < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_'))
        ++i;
    } else if (std::isdigit(c) && !(starts_word == false && i > 0 && text[i - 1] == '_')) {
      bool in_mnemonic = text.find_first_of(" \t", text.find_first_not_of(" \t")) > i;
      if (in_mnemonic) {
        shape += text[i++];
        continue;
      }
      if (!shape.empty() && shape.back() == '-') shape.pop_back();
      bool hexadecimal = text.compare(i, 2, "0x") == 0;
      bool real = false;
      if (hexadecimal) i += 2;
      while (i < text.size() &&
             (std::isxdigit(static_cast<unsigned char>(text[i])) || text[i] == '.')) {
        real |= text[i] == '.';
        ++i;
      }
      shape += hexadecimal ? "0x#" : real ? "#.#" : "#";
    } else {
      shape += text[i++];
    }
  }
  while (!shape.empty() && shape.back() == ' ') shape.pop_back();
  return shape;
}

struct Judgement {
  size_t size = 4;
  std::string text;     // empty: no instruction
  std::string refused;  // empty: it runs
};

// Judges instructions of one target and wave size.
class Judge {
 public:
  Judge(const std::string& target, unsigned wave_size)
      : architecture_(softgpu::FindArchitecture(target)),
        plain_(target, wave_size),
        ours_(softgpu::Disassembler::Create(target, wave_size)) {}

  // LLVM's text alone, and the size; 0 if it is no instruction.
  size_t Read(const uint8_t* bytes, std::string* text) { return plain_.Decode(bytes, text); }

  Judgement Look(const uint8_t* bytes) {
    Judgement result;
    result.size = plain_.Decode(bytes, &result.text);
    if (result.size == 0) return {.size = 4, .text = "", .refused = "no instruction"};
    auto instruction = ours_->Decode(std::span(bytes, kWindow), 0, &result.refused);
    if (!instruction) return result;
    result.refused.clear();
    // Ops keep a pointer to their constants, so each set of rows is dropped only with its op.
    softgpu::ConstantRows constants;
    softgpu::Op op;
    LowerInstruction(*instruction, *architecture_, &constants, &op, &result.refused);
    return result;
  }

 private:
  const Architecture* architecture_;
  PlainDisassembler plain_;
  std::unique_ptr<softgpu::Disassembler> ours_;
};

struct Form {
  uint64_t count = 0;
  unsigned wave_size = 64;
  std::string words;
  std::string text;
  std::string refused;
};

// All forms of one target.
class Corpus {
 public:
  explicit Corpus(std::string target) : target_(std::move(target)) {}

  void Add(const Function& function) {
    std::unique_ptr<Judge>& judge = judges_[function.wave_size];
    if (judge == nullptr) judge = std::make_unique<Judge>(target_, function.wave_size);
    Known& known = known_[function.wave_size];
    std::vector<uint8_t> code(function.code.begin(), function.code.end());
    size_t size = code.size();
    code.resize(size + kWindow);
    for (size_t at = 0; at + 4 <= size;) {
      uint64_t key;
      std::memcpy(&key, &code[at], 8);
      auto it = known.find(key);
      if (it != known.end()) {
        ++it->second.form->count;
        at += it->second.size;
        continue;
      }
      // Of a form that runs, one is judged for all: what decides is in the form.
      std::string text;
      size_t length = judge->Read(&code[at], &text);
      Form* form = &forms_[length == 0 ? "" : Shape(text)];
      if (form->count == 0) {
        Judgement judgement = judge->Look(&code[at]);
        form->wave_size = function.wave_size;
        form->words = Hex(&code[at], judgement.size);
        form->text = judgement.text;
        form->refused = judgement.refused;
      }
      size_t step = length == 0 ? 4 : length;
      ++form->count;
      if (step <= sizeof(key)) known.emplace(key, Remembered{form, step});
      at += step;
    }
  }

  const std::map<std::string, Form>& forms() const { return forms_; }

 private:
  struct Remembered {
    Form* form;
    size_t size;
  };
  using Known = std::unordered_map<uint64_t, Remembered>;

  std::string target_;
  std::map<unsigned, std::unique_ptr<Judge>> judges_;
  std::map<unsigned, Known> known_;
  std::map<std::string, Form> forms_;
};

nlohmann::json ToJson(const std::string& shape, const Form& form) {
  nlohmann::json json = {{"mnemonics", Mnemonics(form.text)},
                         {"shape", shape},
                         {"count", form.count},
                         {"wave", form.wave_size},
                         {"words", form.words},
                         {"text", form.text}};
  if (!form.refused.empty()) json["refused"] = form.refused;
  return json;
}

int Objects(const std::vector<std::string>& files, size_t most_functions, bool refused_only) {
  std::map<std::string, Corpus> corpora;
  for (const std::string& name : files) {
    std::ifstream stream(name, std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)),
                               std::istreambuf_iterator<char>());
    std::string why = "the file cannot be read";
    std::optional<CodeObject> object;
    if (stream) object = ReadCodeObject(bytes, &why);
    if (!object) {
      std::cerr << "isa_coverage: " << name << ": " << why << "\n";
      return 1;
    }
    if (object->target.empty() || !softgpu::Disassembler::Knows(object->target)) continue;
    Corpus& corpus = corpora.try_emplace(object->target, object->target).first->second;
    size_t count = object->functions.size();
    size_t taken = std::min(count, most_functions);
    for (size_t i = 0; i < taken; ++i) corpus.Add(object->functions[i * count / taken]);
  }
  if (refused_only) {
    for (const auto& [target, corpus] : corpora) {
      for (const auto& [shape, form] : corpus.forms()) {
        if (!form.refused.empty())
          std::cout << target << " " << form.count << " " << form.words << " " << form.text
                    << "  # " << form.refused << "\n";
      }
    }
    return 0;
  }
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [target, corpus] : corpora) {
    for (const auto& [shape, form] : corpus.forms()) json[target].push_back(ToJson(shape, form));
  }
  std::cout << json.dump(1) << "\n";
  return 0;
}

std::vector<uint8_t> FromHex(const std::string& words) {
  std::vector<uint8_t> bytes(words.size() / 2 + kWindow);
  for (size_t i = 0; i + 8 <= words.size(); i += 8) {
    auto word = static_cast<uint32_t>(std::stoul(words.substr(i, 8), nullptr, 16));
    std::memcpy(&bytes[i / 2], &word, 4);
  }
  return bytes;
}

int Forms(const std::string& target) {
  std::map<unsigned, std::unique_ptr<Judge>> judges;
  nlohmann::json json = nlohmann::json::array();
  unsigned wave_size;
  std::string words;
  while (std::cin >> wave_size >> words) {
    std::unique_ptr<Judge>& judge = judges[wave_size];
    if (judge == nullptr) judge = std::make_unique<Judge>(target, wave_size);
    Judgement judgement = judge->Look(FromHex(words).data());
    nlohmann::json row = {{"wave", wave_size},
                          {"words", words},
                          {"text", judgement.text},
                          {"mnemonics", Mnemonics(judgement.text)}};
    if (!judgement.refused.empty()) row["refused"] = judgement.refused;
    json.push_back(std::move(row));
  }
  std::cout << json.dump(1) << "\n";
  return 0;
}

int Llvm(const std::string& target) {
  for (const auto& [mnemonic, words] : LlvmInstructions(target))
    std::cout << mnemonic << " " << words << "\n";
  return 0;
}

int Rows(const std::string& target) {
  const Architecture* architecture = softgpu::FindArchitecture(target);
  if (architecture == nullptr) throw std::runtime_error("the software GPU has no " + target);
  for (std::string mnemonic; std::cin >> mnemonic;)
    if (softgpu::FindRow(*architecture, mnemonic) == nullptr) std::cout << mnemonic << "\n";
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() >= 2 && (arguments[0] == "objects" || arguments[0] == "refused")) {
    bool limited = arguments.size() >= 4 && arguments[1] == "--functions";
    size_t most = limited ? std::stoul(arguments[2]) : SIZE_MAX;
    return Objects({arguments.begin() + (limited ? 3 : 1), arguments.end()}, most,
                   arguments[0] == "refused");
  }
  if (arguments.size() == 2 && arguments[0] == "forms") return Forms(arguments[1]);
  if (arguments.size() == 2 && arguments[0] == "llvm") return Llvm(arguments[1]);
  if (arguments.size() == 2 && arguments[0] == "rows") return Rows(arguments[1]);
  std::cerr
      << "usage: isa_coverage objects|refused [--functions N] FILE... | forms|llvm|rows TARGET\n";
  return 2;
}

}  // namespace
}  // namespace rochound::coverage

int main(int argc, char** argv) {
  try {
    return rochound::coverage::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "isa_coverage: " << error.what() << "\n";
    return 1;
  }
}
