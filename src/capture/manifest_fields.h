// SPDX-License-Identifier: MIT
//
// The names under which a manifest's fields are in its JSON: the one description that writing
// (manifest.cpp) and reading (manifest_reader.cpp) are made from. A visitor has Text, Number,
// Address, Flag, Numbers, Bytes, Object, List and Texts. Included by these two files only.
#pragma once

#include <concepts>
#include <type_traits>

#include "capture/manifest.h"

namespace rochound::capture {

// A T, const where it is written from.
template <typename Given, typename T>
concept Either = std::same_as<std::remove_const_t<Given>, T>;

template <typename Visitor, Either<Range> T>
void VisitFields(Visitor& visitor, T& range) {
  visitor.Address("base", range.base);
  visitor.Number("size", range.size);
}

template <typename Visitor, Either<Region> T>
void VisitFields(Visitor& visitor, T& region) {
  visitor.Address("base", region.base);
  visitor.Number("size", region.size);
  visitor.Text("kind", region.kind);
  visitor.Number("owner", region.owner);
  visitor.Text("access", region.access);
  visitor.Flag("taken", region.taken);
  visitor.Text("reached_by", region.reached_by);
  visitor.Address("host_base", region.host_base);
}

template <typename Visitor, Either<Agent> T>
void VisitFields(Visitor& visitor, T& agent) {
  visitor.Text("name", agent.name);
  visitor.Text("isa", agent.isa);
  visitor.Text("product", agent.product);
  visitor.Text("device", agent.device);
  visitor.Text("uuid", agent.uuid);
  visitor.Number("node", agent.node);
  visitor.Number("compute_units", agent.compute_units);
  visitor.Number("wavefront", agent.wavefront);
}

template <typename Visitor, Either<Argument> T>
void VisitFields(Visitor& visitor, T& argument) {
  visitor.Text("name", argument.name);
  visitor.Text("type_name", argument.type_name);
  visitor.Text("value_kind", argument.value_kind);
  visitor.Text("address_space", argument.address_space);
  visitor.Number("offset", argument.offset);
  visitor.Number("size", argument.size);
  visitor.Number("region", argument.region);
  visitor.Number("region_offset", argument.region_offset);
}

template <typename Visitor, Either<Launch> T>
void VisitFields(Visitor& visitor, T& launch) {
  visitor.Bytes("packet", launch.packet);
  visitor.Number("setup", launch.setup);
  visitor.Numbers("grid", launch.grid);
  visitor.Numbers("workgroup", launch.workgroup);
  visitor.Number("group_bytes", launch.group_bytes);
  visitor.Number("private_bytes", launch.private_bytes);
  visitor.Address("kernel_object", launch.kernel_object);
  visitor.Address("kernarg", launch.kernarg);
  visitor.Number("kernarg_bytes", launch.kernarg_bytes);
  visitor.Number("duration_ns", launch.duration_ns);
  visitor.Number("dispatch", launch.dispatch);
  visitor.Number("match", launch.match);
  visitor.Flag("unfinished", launch.unfinished);
}

template <typename Visitor, Either<CodeObject> T>
void VisitFields(Visitor& visitor, T& code_object) {
  visitor.Object("loaded", code_object.loaded);
  visitor.Address("load_delta", code_object.load_delta);
  visitor.Text("uri", code_object.uri);
}

template <typename Visitor, Either<Manifest> T>
void VisitFields(Visitor& visitor, T& manifest) {
  visitor.Number("version", manifest.version);
  visitor.Text("made_by", manifest.made_by);
  visitor.Text("created", manifest.created);
  visitor.Text("command", manifest.command);
  visitor.Text("host", manifest.host);
  visitor.Number("pid", manifest.pid);
  visitor.Text("runtime", manifest.runtime);
  visitor.Text("kernel", manifest.kernel);
  visitor.Text("memory", manifest.memory);
  visitor.Number("agent", manifest.agent);
  visitor.List("agents", manifest.agents);
  visitor.Object("launch", manifest.launch);
  visitor.Object("code_object", manifest.code_object);
  visitor.List("regions", manifest.regions);
  visitor.List("arguments", manifest.arguments);
  visitor.Texts("notes", manifest.notes);
}

}  // namespace rochound::capture
