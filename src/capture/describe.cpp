// SPDX-License-Identifier: MIT
#include "capture/describe.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "capture/bundle.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"

namespace rochound::capture {
namespace {

// Once, however often the bundle is packed.
void AddNote(Manifest& manifest, const std::string& note) {
  if (std::find(manifest.notes.begin(), manifest.notes.end(), note) == manifest.notes.end())
    manifest.notes.push_back(note);
}

const codeobj::Kernel* FindKernel(const codeobj::CodeObject& object, Manifest& manifest) {
  const uint64_t address = manifest.launch.kernel_object - manifest.code_object.load_delta;
  for (const codeobj::Kernel& kernel : object.kernels()) {
    if (kernel.descriptor_address != address) continue;
    if (!manifest.kernel.empty() && manifest.kernel != kernel.name) {
      AddNote(manifest, "the runtime called the kernel '" + manifest.kernel +
                            "', the code object calls it '" + kernel.name + "'");
    }
    manifest.kernel = kernel.name;
    return &kernel;
  }
  const codeobj::Kernel* const named = object.FindKernel(manifest.kernel);
  AddNote(manifest, named == nullptr
                        ? "the code object has no kernel where the launch had its descriptor"
                        : "the kernel was found by its name, not by its address");
  return named;
}

}  // namespace

int32_t FindRegion(const Manifest& manifest, uint64_t address) {
  const auto& regions = manifest.regions;
  const auto next =
      std::upper_bound(regions.begin(), regions.end(), address,
                       [](uint64_t wanted, const Region& region) { return wanted < region.base; });
  if (next == regions.begin() || address - (next - 1)->base >= (next - 1)->size) return -1;
  return static_cast<int32_t>(next - 1 - regions.begin());
}

void DescribeLaunch(Manifest& manifest, std::span<const std::byte> kernarg,
                    std::span<const std::byte> code_object) {
  manifest.arguments.clear();
  const auto object = codeobj::CodeObject::Parse(AsText(code_object));
  if (!object.ok()) {
    AddNote(manifest, "the code object cannot be read: " + object.error().message);
    return;
  }
  const codeobj::Kernel* const kernel = FindKernel(object.value(), manifest);
  if (kernel == nullptr) return;
  const std::vector<std::string> types = codeobj::DeclaredTypes(kernel->name);
  const bool has_types = types.size() == kernel->ExplicitArguments();
  for (size_t i = 0; i < kernel->arguments.size(); ++i) {
    const codeobj::Argument& known = kernel->arguments[i];
    const std::string_view bytes = known.BytesOf(AsText(kernarg));
    // Hidden arguments past the end of a segment that the launch made shorter are not there.
    if (bytes.size() != known.size) continue;
    Argument argument{.name = known.name,
                      .type_name = known.type_name,
                      .value_kind = known.value_kind,
                      .address_space = known.address_space,
                      .offset = static_cast<uint32_t>(known.offset),
                      .size = static_cast<uint32_t>(known.size)};
    if (argument.type_name.empty() && has_types && i < types.size()) argument.type_name = types[i];
    uint64_t address = 0;
    if (known.pointer() && bytes.size() == sizeof address) {
      memcpy(&address, bytes.data(), sizeof address);
      argument.region = FindRegion(manifest, address);
      if (argument.region >= 0)
        argument.region_offset =
            address - manifest.regions[static_cast<size_t>(argument.region)].base;
    }
    manifest.arguments.push_back(std::move(argument));
  }
}

}  // namespace rochound::capture
