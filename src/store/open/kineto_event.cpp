// SPDX-License-Identifier: MIT
#include "store/open/kineto_event.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace rochound::store {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr int64_t kMaxNs = int64_t{1} << 62;

std::string_view Trim(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> RealOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<int64_t> IntegerOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const std::optional<double> real = RealOf(text);
  if (!real || std::abs(*real) > 9e18) return {};
  return static_cast<int64_t>(*real);
}

// JSON without line breaks and needless blanks, however it was written.
void AppendCompact(std::string_view json, std::string* out) {
  bool in_string = false;
  bool escaped = false;
  for (const char c : json) {
    if (in_string) {
      out->push_back(c);
      in_string = escaped || c != '"';
      escaped = c == '\\' && !escaped;
    } else if (c == '"') {
      out->push_back(c);
      in_string = true;
      escaped = false;
    } else if (c == ',' || c == ':') {
      out->push_back(c);
      out->push_back(' ');
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      out->push_back(c);
    }
  }
}

// A text, or the text of anything else. False: damaged.
bool ReadText(ondemand::value value, std::string* out) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  out->clear();
  if (type == ondemand::json_type::string) {
    std::string_view text;
    // Half of a surrogate pair, as cut-off names end, is replaced and not refused.
    if (value.get_string(true).get(text) != simdjson::SUCCESS) return false;
    out->assign(text);
    std::replace(out->begin(), out->end(), '\0', '?');  // C and SQL end there
    return true;
  }
  std::string_view raw;
  if (type == ondemand::json_type::array || type == ondemand::json_type::object) {
    if (value.raw_json().get(raw) != simdjson::SUCCESS) return false;
  } else {
    raw = value.raw_json_token();
  }
  AppendCompact(Trim(raw), out);
  return true;
}

}  // namespace

std::optional<int64_t> NanosecondsOfMicroseconds(std::string_view text) {
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (negative) digits.remove_prefix(1);
  if (digits.empty()) return {};
  int64_t ns = 0;
  int decimals = -1;  // before the point
  for (const char c : digits) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (c >= '0' && c <= '9') {
      if (decimals >= 3) continue;
      if (ns > kMaxNs / 10) return {};
      ns = ns * 10 + (c - '0');
      if (decimals >= 0) ++decimals;
    } else {
      // With an exponent it was written from a double and has no more than that to tell.
      const std::optional<double> real = RealOf(text);
      if (!real || std::abs(*real) > 4e15) return {};
      return std::llround(*real * 1000);
    }
  }
  for (int i = std::max(decimals, 0); i < 3; ++i) {
    if (ns > kMaxNs / 10) return {};
    ns *= 10;
  }
  return negative ? -ns : ns;
}

const std::string* KinetoEvent::Find(std::string_view argument) const {
  for (size_t i = 0; i < argument_count; ++i) {
    if (arguments[i].name == argument) return &arguments[i].value;
  }
  return nullptr;
}

std::optional<int64_t> KinetoEvent::Number(std::string_view argument) const {
  const std::string* value = Find(argument);
  return value == nullptr ? std::nullopt : IntegerOf(*value);
}

bool KinetoEvent::Dimensions(std::string_view argument, int64_t (&dimensions)[3]) const {
  const std::string* value = Find(argument);
  if (value == nullptr || value->size() < 2 || value->front() != '[') return false;
  std::string_view rest(*value);
  rest.remove_prefix(1);
  std::fill(std::begin(dimensions), std::end(dimensions), 1);
  for (int64_t& dimension : dimensions) {
    const size_t end = rest.find_first_of(",]");
    if (end == std::string_view::npos) return false;
    const std::optional<int64_t> number = IntegerOf(Trim(rest.substr(0, end)));
    if (!number || *number < 0 || *number > INT32_MAX) return false;
    dimension = *number;
    if (rest[end] == ']') return true;
    rest.remove_prefix(end + 1);
  }
  return false;
}

struct KinetoParser::State {
  ondemand::parser parser;
  std::string padded;
  std::string text;

  bool Parse(KinetoEvent* event);
  bool ParseArguments(ondemand::value value, KinetoEvent* event);
};

KinetoParser::KinetoParser() : state_(std::make_unique<State>()) {}
KinetoParser::~KinetoParser() = default;

bool KinetoParser::Parse(std::string_view object, KinetoEvent* event) {
  // A name with one bad byte is better than no event.
  state_->padded.assign(base::ToUtf8(object, &state_->text));
  state_->padded.append(simdjson::SIMDJSON_PADDING, ' ');
  return state_->Parse(event);
}

bool KinetoParser::State::Parse(KinetoEvent* event) {
  event->phase = 0;
  event->category.clear();
  event->name.clear();
  event->pid_text.clear();
  event->pid.reset();
  event->tid.reset();
  event->start.reset();
  event->duration.reset();
  event->id.reset();
  event->argument_count = 0;

  ondemand::document document;
  if (parser.iterate(padded.data(), padded.size() - simdjson::SIMDJSON_PADDING, padded.size())
          .get(document) != simdjson::SUCCESS) {
    return false;
  }
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto found : object) {
    ondemand::field field;
    std::string_view escaped;
    if (std::move(found).get(field) != simdjson::SUCCESS) return false;
    escaped = field.escaped_key();
    if (escaped == "args") {
      if (!ParseArguments(field.value(), event)) return false;
      continue;
    }
    if (!ReadText(field.value(), &text)) return false;
    if (escaped == "ph") {
      event->phase = text.size() == 1 ? text[0] : '\0';
    } else if (escaped == "cat") {
      event->category = text;
    } else if (escaped == "name") {
      event->name = text;
    } else if (escaped == "pid") {
      event->pid = IntegerOf(text);
      event->pid_text = text;
    } else if (escaped == "tid") {
      event->tid = IntegerOf(text);
    } else if (escaped == "ts") {
      event->start = NanosecondsOfMicroseconds(text);
    } else if (escaped == "dur") {
      event->duration = NanosecondsOfMicroseconds(text);
    } else if (escaped == "id") {
      event->id = IntegerOf(text);
    }
  }
  return document.at_end() && event->phase != 0;
}

bool KinetoParser::State::ParseArguments(ondemand::value value, KinetoEvent* event) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto found : object) {
    ondemand::field field;
    if (std::move(found).get(field) != simdjson::SUCCESS) return false;
    if (event->argument_count == event->arguments.size()) event->arguments.emplace_back();
    KinetoEvent::Argument& argument = event->arguments[event->argument_count];
    argument.name.assign(std::string_view(field.escaped_key()));
    if (!ReadText(field.value(), &argument.value)) return false;
    ++event->argument_count;
  }
  return true;
}

}  // namespace rochound::store
