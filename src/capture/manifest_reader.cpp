// SPDX-License-Identifier: MIT
#include <limits>
#include <nlohmann/json.hpp>

#include "capture/manifest.h"
#include "capture/manifest_fields.h"

namespace rochound::capture {
namespace {

using nlohmann::json;

// Larger numbers lose bits in readers that hold all numbers as doubles, so the writer has none.
constexpr uint64_t kLargestNumber = 1ull << 53;

bool HasControls(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0)) return true;
  }
  return false;
}

int Digit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  return -1;
}

// Takes fields out of one object. The first problem is kept in *error, and nothing is read after
// it.
class Reader {
 public:
  Reader(const json& object, std::string where, std::string* error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (!object.is_object()) Complain("", "is not an object");
  }

  void Text(const char* name, std::string& value) {
    if (const json* field = Find(name)) TakeText(*field, name, value);
  }

  template <typename T>
  void Number(const char* name, T& value) {
    if (const json* field = Find(name)) TakeNumber(*field, name, value);
  }

  void Address(const char* name, uint64_t& value) {
    const json* field = Find(name);
    if (field == nullptr) return;
    const auto* text = field->get_ptr<const std::string*>();
    bool good =
        text != nullptr && text->size() >= 3 && text->size() <= 18 && text->starts_with("0x");
    value = 0;
    for (size_t i = 2; good && i < text->size(); ++i) {
      const int digit = Digit((*text)[i]);
      good = digit >= 0;
      value = value << 4 | static_cast<uint64_t>(digit);
    }
    if (!good) Complain(name, "is not an address such as \"0x7f0000001000\"");
  }

  void Flag(const char* name, bool& value) {
    const json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_boolean()) return Complain(name, "is not true or false");
    value = field->get<bool>();
  }

  void Numbers(const char* name, std::array<uint32_t, 3>& values) {
    const json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_array() || field->size() != values.size())
      return Complain(name, "is not a list of three numbers");
    for (size_t i = 0; i < values.size(); ++i) TakeNumber((*field)[i], name, values[i]);
  }

  template <size_t kCount>
  void Bytes(const char* name, std::array<uint8_t, kCount>& bytes) {
    const json* field = Find(name);
    if (field == nullptr) return;
    const auto* text = field->get_ptr<const std::string*>();
    bool good = text != nullptr && text->size() == 2 * kCount;
    for (size_t i = 0; good && i < kCount; ++i) {
      const int high = Digit((*text)[2 * i]);
      const int low = Digit((*text)[2 * i + 1]);
      good = high >= 0 && low >= 0;
      bytes[i] = static_cast<uint8_t>(high << 4 | low);
    }
    if (!good)
      Complain(name, "is not " + std::to_string(kCount) + " bytes in lower-case hexadecimal");
  }

  template <typename T>
  void Object(const char* name, T& value) {
    const json* field = Find(name);
    if (field == nullptr) return;
    Reader inner(*field, where_ + name + ".", error_);
    if (error_->empty()) VisitFields(inner, value);
  }

  template <typename T>
  void List(const char* name, std::vector<T>& values) {
    const json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_array()) return Complain(name, "is not a list");
    values.resize(field->size());
    for (size_t i = 0; i < values.size() && error_->empty(); ++i) {
      Reader inner((*field)[i], where_ + name + "[" + std::to_string(i) + "].", error_);
      if (error_->empty()) VisitFields(inner, values[i]);
    }
  }

  void Texts(const char* name, std::vector<std::string>& values) {
    const json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_array()) return Complain(name, "is not a list");
    values.resize(field->size());
    for (size_t i = 0; i < values.size(); ++i) TakeText((*field)[i], name, values[i]);
  }

 private:
  const json* Find(const char* name) {
    if (!error_->empty()) return nullptr;
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    Complain(name, "is missing");
    return nullptr;
  }

  void TakeText(const json& field, const char* name, std::string& value) {
    const auto* text = field.get_ptr<const std::string*>();
    if (text == nullptr) return Complain(name, "is not text");
    if (HasControls(*text)) return Complain(name, "has control characters in it");
    value = *text;
  }

  template <typename T>
  void TakeNumber(const json& field, const char* name, T& value) {
    using Limits = std::numeric_limits<T>;
    if (field.is_number_unsigned()) {
      const auto number = field.get<uint64_t>();
      if (number <= kLargestNumber && number <= static_cast<uint64_t>(Limits::max())) {
        value = static_cast<T>(number);
        return;
      }
    } else if (field.is_number_integer()) {
      const auto number = field.get<int64_t>();
      if (Limits::is_signed && number >= static_cast<int64_t>(Limits::min())) {
        value = static_cast<T>(number);
        return;
      }
    }
    Complain(name, "is not a whole number that can be there");
  }

  void Complain(const std::string& name, const std::string& problem) {
    if (!error_->empty()) return;
    std::string field = where_ + name;
    if (name.empty() && field.ends_with('.')) field.pop_back();
    *error_ = (field.empty() ? "it" : field) + " " + problem;
  }

  const json& object_;
  const std::string where_;  // "regions[3]."
  std::string* const error_;
};

}  // namespace

base::Result<Manifest> FromJson(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return base::Error{"is not JSON"};
  std::string error;
  Manifest manifest;
  Reader reader(object, "", &error);
  // Before everything else: another version's other fields are no mistake.
  reader.Number("version", manifest.version);
  if (error.empty() && manifest.version != kFormatVersion) error = Implausible(manifest);
  if (error.empty()) VisitFields(reader, manifest);
  if (error.empty()) error = Implausible(manifest);
  if (!error.empty()) return base::Error{error};
  return manifest;
}

}  // namespace rochound::capture
