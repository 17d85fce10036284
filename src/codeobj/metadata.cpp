// SPDX-License-Identifier: MIT
#include "codeobj/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;
using nlohmann::json;

// What is looked at before the tree is made. The reader recurses as deep as its input is nested;
// real metadata has five levels. A map of one byte becomes a kernel or an argument of hundreds;
// real ones have at least 30.
class ShapeCheck : public nlohmann::json_sax<json> {
 public:
  explicit ShapeCheck(size_t bytes) : maps_left_(bytes / 16 + 1) {}

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(size_t /*elements*/) override {
    return ++depth_ < kDeepest && maps_left_-- > 0;
  }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(size_t /*elements*/) override { return ++depth_ < kDeepest; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    return false;
  }

 private:
  static constexpr int kDeepest = 32;
  int depth_ = 0;
  size_t maps_left_;
};

const json* Find(const json& map, const char* key) {
  if (!map.is_object()) return nullptr;
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &*found;
}

void Get(const json& map, const char* key, std::string* value) {
  if (const json* found = Find(map, key); found != nullptr && found->is_string())
    *value = found->get_ref<const std::string&>();
}

void Get(const json& map, const char* key, uint64_t* value) {
  if (const json* found = Find(map, key); found != nullptr && found->is_number_unsigned())
    *value = found->get<uint64_t>();
}

void Get(const json& map, const char* key, bool* value) {
  const json* found = Find(map, key);
  if (found == nullptr) return;
  if (found->is_boolean()) *value = found->get<bool>();
  if (found->is_number_unsigned()) *value = found->get<uint64_t>() != 0;
}

Argument ReadArgument(const json& from) {
  Argument argument;
  Get(from, ".name", &argument.name);
  Get(from, ".type_name", &argument.type_name);
  Get(from, ".offset", &argument.offset);
  Get(from, ".size", &argument.size);
  Get(from, ".value_kind", &argument.value_kind);
  Get(from, ".address_space", &argument.address_space);
  Get(from, ".access", &argument.access);
  Get(from, ".actual_access", &argument.actual_access);
  Get(from, ".pointee_align", &argument.pointee_align);
  Get(from, ".is_const", &argument.is_const);
  Get(from, ".is_restrict", &argument.is_restrict);
  Get(from, ".is_volatile", &argument.is_volatile);
  Get(from, ".is_pipe", &argument.is_pipe);
  return argument;
}

Kernel ReadKernel(const json& from) {
  Kernel kernel;
  kernel.has_metadata = true;
  Get(from, ".name", &kernel.name);
  Get(from, ".symbol", &kernel.symbol);
  Get(from, ".language", &kernel.language);
  Get(from, ".kernarg_segment_size", &kernel.kernarg_segment_size);
  Get(from, ".kernarg_segment_align", &kernel.kernarg_segment_align);
  Get(from, ".group_segment_fixed_size", &kernel.group_segment_fixed_size);
  Get(from, ".private_segment_fixed_size", &kernel.private_segment_fixed_size);
  Get(from, ".wavefront_size", &kernel.wavefront_size);
  Get(from, ".sgpr_count", &kernel.sgpr_count);
  Get(from, ".vgpr_count", &kernel.vgpr_count);
  Get(from, ".agpr_count", &kernel.agpr_count);
  Get(from, ".sgpr_spill_count", &kernel.sgpr_spill_count);
  Get(from, ".vgpr_spill_count", &kernel.vgpr_spill_count);
  Get(from, ".max_flat_workgroup_size", &kernel.max_flat_workgroup_size);
  Get(from, ".uses_dynamic_stack", &kernel.uses_dynamic_stack);
  Get(from, ".workgroup_processor_mode", &kernel.workgroup_processor_mode);
  Get(from, ".uniform_work_group_size", &kernel.uniform_work_group_size);
  if (const json* required = Find(from, ".reqd_workgroup_size");
      required != nullptr && required->is_array() && required->size() == 3) {
    for (size_t i = 0; i < 3; ++i)
      if ((*required)[i].is_number_unsigned())
        kernel.reqd_workgroup_size[i] = (*required)[i].get<uint64_t>();
  }
  if (const json* arguments = Find(from, ".args"); arguments != nullptr && arguments->is_array()) {
    for (const json& argument : *arguments)
      if (argument.is_object()) kernel.arguments.push_back(ReadArgument(argument));
  }
  std::stable_partition(kernel.arguments.begin(), kernel.arguments.end(),
                        [](const Argument& argument) { return !argument.hidden(); });
  return kernel;
}

}  // namespace

Result<Metadata> ReadMetadata(std::string_view message_pack) {
  ShapeCheck check(message_pack.size());
  if (!json::sax_parse(message_pack.begin(), message_pack.end(), &check,
                       json::input_format_t::msgpack, false))
    return Error{"the code object's metadata is damaged: its MessagePack cannot be read"};
  const json root = json::from_msgpack(message_pack.begin(), message_pack.end(), false, false);
  if (!root.is_object()) return Error{"the code object's metadata is damaged: it is no map"};
  Metadata metadata;
  Get(root, "amdhsa.target", &metadata.target);
  if (const json* kernels = Find(root, "amdhsa.kernels");
      kernels != nullptr && kernels->is_array()) {
    for (const json& kernel : *kernels)
      if (kernel.is_object()) metadata.kernels.push_back(ReadKernel(kernel));
  }
  return metadata;
}

}  // namespace rochound::codeobj
