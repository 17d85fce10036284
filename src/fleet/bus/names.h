// SPDX-License-Identifier: MIT
//
// What subjects and streams are called, said once for daemon, aggregator and commands.
//
//   rh.sk.TENANT.SHARD.JOB.HOST     sketches; stream RH_SK_TENANT_SHARD, on disk, 2 hours
//   rh.beat.TENANT.JOB.HOST         beats; stream RH_BEAT_TENANT, in memory, 15 minutes
//   rh.ctl.TENANT.all, .host.HOST   requests to daemons
//   rh.code.TENANT.HOST             requests for code objects that ran there
//   rh.event.TENANT.JOB.ID          hangs and stragglers; stream RH_EVENT_TENANT, on disk, 7 days
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"
#include "fleet/bus/bus.h"

namespace rochound::fleet {

inline uint32_t ShardOf(std::string_view job, uint32_t shards) {
  return static_cast<uint32_t>(base::Fnv1a64(job) % shards);
}

inline StreamOptions SketchStream(const std::string& tenant, uint32_t shard, int replicas) {
  const std::string name = SubjectToken(tenant);
  const std::string number = std::to_string(shard);
  return {.name = "RH_SK_" + name + "_" + number,
          .subject = "rh.sk." + name + "." + number + ".>",
          .keep = std::chrono::hours(2),
          .replicas = replicas};
}

inline std::string SketchSubject(const std::string& tenant, uint32_t shard, const std::string& job,
                                 const std::string& host) {
  return "rh.sk." + SubjectToken(tenant) + "." + std::to_string(shard) + "." + SubjectToken(job) +
         "." + SubjectToken(host);
}

inline StreamOptions BeatStream(const std::string& tenant) {
  const std::string name = SubjectToken(tenant);
  return {.name = "RH_BEAT_" + name,
          .subject = "rh.beat." + name + ".>",
          .keep = std::chrono::minutes(15),
          .in_memory = true};
}

inline std::string BeatSubject(const std::string& tenant, const std::string& job,
                               const std::string& host) {
  return "rh.beat." + SubjectToken(tenant) + "." + SubjectToken(job) + "." + SubjectToken(host);
}

// Of all hosts.
inline std::string BeatPattern(const std::string& tenant, const std::string& job) {
  return "rh.beat." + SubjectToken(tenant) + "." + SubjectToken(job) + ".*";
}

inline std::string BeatPatternOfAllJobs(const std::string& tenant) {
  return "rh.beat." + SubjectToken(tenant) + ".*.*";
}

inline StreamOptions EventStream(const std::string& tenant, int replicas = 1) {
  const std::string name = SubjectToken(tenant);
  return {.name = "RH_EVENT_" + name,
          .subject = "rh.event." + name + ".>",
          .keep = std::chrono::hours(7 * 24),
          .replicas = replicas};
}
// A subject for each event, so that all of them are asked for at once.
inline std::string EventSubject(const std::string& tenant, const std::string& job,
                                const std::string& id) {
  return "rh.event." + SubjectToken(tenant) + "." + SubjectToken(job) + "." + SubjectToken(id);
}

inline std::string EventPattern(const std::string& tenant) {
  return "rh.event." + SubjectToken(tenant) + ".*.*";
}

inline std::string ControlSubject(const std::string& tenant) {
  return "rh.ctl." + SubjectToken(tenant) + ".all";
}
inline std::string HostControlSubject(const std::string& tenant, const std::string& host) {
  return "rh.ctl." + SubjectToken(tenant) + ".host." + SubjectToken(host);
}

inline std::string CodeSubject(const std::string& tenant, const std::string& host) {
  return "rh.code." + SubjectToken(tenant) + "." + SubjectToken(host);
}

}  // namespace rochound::fleet
