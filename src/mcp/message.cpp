// SPDX-License-Identifier: MIT
#include "mcp/message.h"

#include <utility>

namespace rochound::mcp {
namespace {

// Checked before parsing: values are destroyed and written by recursion.
bool IsTooDeep(std::string_view line) {
  int depth = 0;
  bool text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (text) {
      if (letter == '\\') ++i;
      if (letter == '"') text = false;
    } else if (letter == '"') {
      text = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > kMostDepth) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

Message Invalid(int code, std::string problem, Json id = nullptr) {
  Message message;
  message.code = code;
  message.problem = std::move(problem);
  message.id = std::move(id);
  return message;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

bool IsToken(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() <= kMostId;
  return value.is_number_integer();
}

Message ParseMessage(std::string_view line) {
  if (IsTooDeep(line)) return Invalid(kParseError, "nested too deeply");
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Invalid(kParseError, "not JSON in UTF-8");
  if (json.is_array())
    return Invalid(kInvalidRequest, "batches are not supported; send one message per line");
  if (!json.is_object()) return Invalid(kInvalidRequest, "not an object");
  const bool has_id = json.contains("id");
  Json id = has_id ? std::move(json["id"]) : Json(nullptr);
  if (has_id && !IsToken(id))
    return Invalid(kInvalidRequest, "an id is an integer or a text of at most 256 bytes");
  if (json.value("jsonrpc", Json()) != "2.0")
    return Invalid(kInvalidRequest, "\"jsonrpc\" is not \"2.0\"", id);
  if (!json.contains("method")) {
    if (!json.contains("result") && !json.contains("error"))
      return Invalid(kInvalidRequest, "no method", id);
    Message response;
    response.kind = Message::Kind::kResponse;
    return response;
  }
  if (!json["method"].is_string()) return Invalid(kInvalidRequest, "the method is not a text", id);
  Message message;
  message.kind = has_id ? Message::Kind::kRequest : Message::Kind::kNotification;
  message.method = json["method"].get<std::string>();
  message.params = json.contains("params") ? std::move(json["params"]) : Json::object();
  message.id = std::move(id);
  if (!message.params.is_object())
    return Invalid(kInvalidParams, "params is not an object", message.id);
  return message;
}

std::string ResultLine(const Json& id, const Json& result) {
  return Dump(Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

std::string ErrorLine(const Json& id, int code, const std::string& message, const Json& data) {
  Json json = {{"jsonrpc", "2.0"}};
  if (!id.is_null()) json["id"] = id;
  json["error"] = {{"code", code}, {"message", message}};
  if (!data.is_null()) json["error"]["data"] = data;
  return Dump(json);
}

std::string NotificationLine(const std::string& method, const Json& params) {
  return Dump(Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

void LineSplitter::Take(std::string_view bytes,
                        const std::function<void(const std::string* line)>& use) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!dropping_ && line_.size() + part.size() > kMostLine) {
      dropping_ = true;
      line_ = std::string();  // gives its memory back
    }
    if (!dropping_) line_.append(part);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (dropping_) use(nullptr);
    if (!dropping_ && !line_.empty()) use(&line_);
    line_.clear();
    dropping_ = false;
  }
}

}  // namespace rochound::mcp
