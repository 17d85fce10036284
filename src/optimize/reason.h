// SPDX-License-Identifier: MIT
//
// What the judge can say about a candidate. Names are kept in journals and printed in JSON: one
// that was used is never given another meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rochound::optimize {

enum class Reason : uint8_t {
  kFaster,  // the only one that accepts

  // It is not the same kernel, or does not do the same.
  kDoesNotBuild,
  kBuildsDifferently,
  kNotItsSource,
  kSignature,
  kOwnState,
  kReadsClock,
  kLimits,
  kFaults,
  kHangs,
  kWritesNothing,
  kDifferent,
  kOtherInputs,
  kNotDeterministic,
  kWritesOutside,
  kReadsOutside,
  kReadsUninitialised,
  kRaces,
  kLessPrecise,
  kNotValid,
  kHeldOut,

  // It is right.
  kNoDifference,
  kSlower,
  kSlowerSomewhere,

  // Nothing is known; that is a rejection, too.
  kLowOccupancy,
  kBelowFloor,
  kNotVerified,
  kCannotJudge,
};

struct ReasonText {
  Reason reason;
  const char* name;   // for programs
  const char* about;  // for people
};

inline constexpr ReasonText kReasons[] = {
    {Reason::kFaster, "faster", "equal and faster"},
    {Reason::kDoesNotBuild, "does-not-build", "it does not build"},
    {Reason::kBuildsDifferently, "builds-differently", "two builds of it are not the same"},
    {Reason::kNotItsSource, "not-its-source", "it is not what its source gives"},
    {Reason::kSignature, "signature", "it cannot take the kernel's place"},
    {Reason::kOwnState, "own-state", "it can keep results from one launch to the next"},
    {Reason::kReadsClock, "reads-clock", "it can tell when or where it runs"},
    {Reason::kLimits, "limits", "it needs more than the GPU has"},
    {Reason::kFaults, "faults", "it faults"},
    {Reason::kHangs, "hangs", "it does not end"},
    {Reason::kWritesNothing, "writes-nothing", "it does not write its results"},
    {Reason::kDifferent, "different", "its results are different"},
    {Reason::kOtherInputs, "other-inputs", "its results are different with other inputs"},
    {Reason::kNotDeterministic, "not-deterministic", "it does not give the same result each time"},
    {Reason::kWritesOutside, "writes-outside", "it writes outside of its results"},
    {Reason::kReadsOutside, "reads-outside", "it reads outside of its memory"},
    {Reason::kReadsUninitialised, "reads-uninitialised", "it reads memory that it has not written"},
    {Reason::kRaces, "races", "its waves or workgroups race for memory"},
    {Reason::kLessPrecise, "less-precise", "it is less precise than the original"},
    {Reason::kNotValid, "not-valid", "the validation command refuses its results"},
    {Reason::kHeldOut, "held-out", "it is right only for launches that the search saw"},
    {Reason::kNoDifference, "no-difference", "it is equal, and there is no difference in speed"},
    {Reason::kSlower, "slower", "it is equal, and slower"},
    {Reason::kSlowerSomewhere, "slower-somewhere", "it is equal, and slower for one launch"},
    {Reason::kLowOccupancy, "low-occupancy",
     "far fewer of its waves fit on the GPU than of the best so far"},
    {Reason::kBelowFloor, "below-floor", "it is faster than can be"},
    {Reason::kNotVerified, "not-verified", "its results could not be verified"},
    {Reason::kCannotJudge, "cannot-judge", "it could not be judged"},
};

inline std::string_view NameOf(Reason reason) { return kReasons[static_cast<size_t>(reason)].name; }
inline std::string_view AboutOf(Reason reason) {
  return kReasons[static_cast<size_t>(reason)].about;
}

// Why a candidate is rejected, in one sentence.
struct Rejection {
  Reason reason = Reason::kCannotJudge;
  std::string message;
};

}  // namespace rochound::optimize
