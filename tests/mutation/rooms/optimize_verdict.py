# SPDX-License-Identifier: MIT
"""Faults in what the judge concludes and says."""

NAME = "optimize/verdict"
TESTS = ["optimize_test"]
CODE = ["src/optimize/verdict.cpp"]

FILE = "src/optimize/verdict.cpp"
FAULTS = [
    ("cycles are taken where times on a GPU are asked for", FILE,
     "return on_gpu ? «launch.seconds : launch.model»;", "launch.model : launch.seconds"),
    ("GPU time is printed in milliseconds as if in microseconds", FILE, "value * «1e6»", "1e3"),
    ("slower is printed as the part, not the times", FILE, "ratio > 0 ? «1 / ratio» : 0);", "ratio"),
    ("a launch that was not measured counts as none", FILE,
     "if («!measured ||» measured->original <= 0 ||", "!measured) continue;\n    if ("),
    ("a launch whose candidate took no time is judged", FILE,
     "measured->original <= 0 || «measured->candidate <= 0» || measured->low <= 0)", "false"),
    ("a launch without a lower bound is judged", FILE,
     "measured->candidate <= 0 || «measured->low <= 0»)", "false"),
    ("only the metric's own floor counts", FILE, "for (const bool gpu : {«false, true»}) {", "on_gpu"),
    ("a candidate may be as fast as one tenth of the floor", FILE,
     "one->floor > 0 && one->candidate < «one->floor»)", "one->floor / 10"),
    ("a launch may be slower by any amount on its own", FILE,
     "if («measured->high < 1 / (1 + margin)»)\n      slower =", "false"),
    ("a launch that is slower within the margin is refused", FILE,
     "if (measured->high < «1 / (1 + margin)»)\n      slower =", "1"),
    ("costs are added up without weight", FILE,
     "candidate += «measured->original / measured->ratio»;", "measured->original * measured->ratio"),
    ("the lower bound is made of upper ones", FILE, "least += measured->original / «measured->low»;", "measured->high"),
    ("the upper bound is made of lower ones", FILE, "most += measured->original / «measured->high»;", "measured->low"),
    ("the best guess has to reach the margin, not the lower bound", FILE,
     "if («verdict->low» < 1 + margin)", "verdict->speedup"),
    ("any gain is enough", FILE, "if (verdict->low < 1« + margin»)", ""),
    ("a slower candidate is no different", FILE,
     "if («verdict->high < 1 / (1 + margin)») return {Reason::kSlower, figures};", "false"),
    ("half of the best one's waves are wanted", FILE, "constexpr uint64_t kLeastPart = «4»;", "2"),
    ("waves are compared without the number of slots", FILE,
     "best->waves} * «resources.slots»)", "best->slots"),
    ("a kernel that does not fit is measured", FILE,
     "if (resources.slots == 0 || «resources.workgroups > 0» || original.workgroups == 0)", "true"),
    ("a table that is wrong about the GPU refuses the candidate", FILE,
     "resources.workgroups > 0« || original.workgroups == 0»)", ""),
    ("a held-out launch that was not measured counts as wrong", FILE,
     "if (ExitCodeOf(verdict.reason) «!= 1») return verdict;", "== 0"),
    ("a model's verdict does not say that it is one", FILE,
     "if (verdict.metric == «\"modelled cycles\"») text +=", "\"cycles\""),
    ("JSON has the reason of no rejection", FILE,
     "if (launch.rejection) {\n      one[\"reason\"] = NameOf(«launch.rejection->reason»);", "verdict.reason"),
    ("slots are read as waves", FILE, "resources.slots = json.value(«\"wave_slots\"», 0u);", "\"waves_per_simd\""),
    ("slower somewhere is a wrong result", FILE, "    «case Reason::kSlowerSomewhere:»\n      return 3;", ""),
    ("what was not verified is a wrong result", FILE, "    «case Reason::kNotVerified:»\n", ""),
    ("accesses that were not checked seem checked", FILE,
     "text += «launch.accesses_checked» ? \"; every access is within its memory\\n\"", "!launch.comparison.empty()"),
    ("the candidate's resources are printed as the original's", FILE,
     "row(\"vector registers\", «original.vgprs, candidate.vgprs», true);", "candidate.vgprs, original.vgprs"),
]

SURVIVORS = {}
