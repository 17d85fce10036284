// SPDX-License-Identifier: MIT
//
// The parts that read what others wrote, on texts that are short, cut off or odd. Whole machines
// are judged in tests/doctor.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "codeobj/target.h"
#include "doctor/finding.h"
#include "doctor/hardware.h"
#include "doctor/machine_facts.h"
#include "doctor/outcome.h"
#include "doctor/runtimes.h"
#include "doctor/settings.h"
#include "doctor/topology.h"
#include "doctor/variables.h"

namespace rochound::doctor {
namespace {

using std::string_literals::operator""s;

TEST(HardwareTest, TableFitsItself) {
  std::set<std::pair<unsigned, int>> seen;
  for (const KnownGpu& gpu : KnownGpus()) {
    EXPECT_NE(FindKnownTarget(gpu.target), nullptr) << gpu.product;
    EXPECT_TRUE(seen.insert({gpu.device_id, gpu.revision}).second) << gpu.product;
    EXPECT_EQ(gpu.compute_units % gpu.xccs, 0u) << gpu.product;
    if (FindKnownTarget(gpu.target)->wgp) {
      EXPECT_EQ(gpu.compute_units % 2, 0u) << gpu.product;
    }
  }
  for (const KnownTarget& target : KnownTargets()) {
    if (*target.nearest == '\0') continue;
    EXPECT_NE(FindKnownTarget(target.nearest), nullptr) << target.target;
  }
  ASSERT_NE(FindKnownGpu(0x73bf, 0xc1), nullptr);
  EXPECT_EQ(FindKnownGpu(0x73bf, 0xc1)->compute_units, 72u);
  EXPECT_EQ(FindKnownGpu(0x73bf, 0xc3)->compute_units, 60u);
  EXPECT_EQ(FindKnownGpu(0x73bf, 0x00), nullptr);
}

// The compiler's generic targets are made for GPUs with the same instructions.
TEST(HardwareTest, SameInstructionsAsTheCompilerSays) {
  using codeobj::ParseTarget;
  for (const auto& [generic, first] :
       {std::pair("gfx10-3-generic", "gfx1030"), std::pair("gfx11-generic", "gfx1100")}) {
    codeobj::Target code = ParseTarget(generic).value();
    code.generic_version = 255;
    for (const KnownTarget& target : KnownTargets()) {
      // gfx11-generic leaves out instructions for gfx115x, which gfx1100's own code has.
      const bool same = RunsOn(code, ParseTarget(target.target).value()) &&
                        target.architecture != std::string_view("RDNA 3.5");
      EXPECT_EQ(same, target.target == std::string_view(first) ||
                          target.nearest == std::string_view(first))
          << target.target;
    }
  }
}

Machine MachineWithGrub(const base::TempDir& folder, const char* grub) {
  std::filesystem::create_directories(folder.path() / "etc/default");
  std::filesystem::create_directories(folder.path() / "proc");
  EXPECT_TRUE(base::WriteFile(folder.path() / "proc/cmdline", "ro quiet\n").ok());
  if (grub != nullptr) {
    EXPECT_TRUE(base::WriteFile(folder.path() / "etc/default/grub", grub).ok());
  }
  Machine machine{Sysroot(folder.path())};
  machine.kfd.resize(2);
  return machine;
}

TEST(ReportTest, NothingInATraceSteersTheTerminal) {
  Report report;
  report.findings.push_back({.severity = Severity::kError,
                             .what = "kernel a\033[2Jb",
                             .remedy = "\033]0;x\007",
                             .evidence = {"\302\2332J"}});
  const std::string text = ToText(report, false, 100, false);
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_EQ(text.find("\302\233"), std::string::npos) << text;
}

TEST(BootParameters, AreAllInTheLine) {
  const auto folder = base::TempDir::Create(testing::TempDir(), "grub-").value();
  const BootAdvice advice = AdviseBootParameters(
      MachineWithGrub(folder, "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\n"));
  ASSERT_EQ(advice.parameters.size(), 3u);
  EXPECT_EQ(advice.grub_line,
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash amdgpu.noretry=0 amdgpu.vm_fragment_size=9 "
            "iommu=pt\"");
  EXPECT_NE(ToText({}, advice, 80).find(advice.grub_line), std::string::npos);
}

TEST(BootParameters, AreNamedWithoutAGrub) {
  const auto folder = base::TempDir::Create(testing::TempDir(), "grub-").value();
  const BootAdvice advice = AdviseBootParameters(MachineWithGrub(folder, nullptr));
  EXPECT_EQ(advice.grub_line, "");
  EXPECT_NE(ToText({}, advice, 80).find("amdgpu.noretry=0 amdgpu.vm_fragment_size=9 iommu=pt\n"),
            std::string::npos);
}

TEST(TopologyTest, NamesTargets) {
  EXPECT_EQ(TargetOfVersion(90010), "gfx90a");
  EXPECT_EQ(TargetOfVersion(90402), "gfx942");
  EXPECT_EQ(TargetOfVersion(100300), "gfx1030");
  EXPECT_EQ(TargetOfVersion(120001), "gfx1201");
  EXPECT_EQ(TargetOfVersion(0), "");
}

TEST(VariablesTest, NamesStandInLibraries) {
  const std::string library =
      "junk\0HSA_XNACK\0HSA_OVERRIDE_GFX_VERSION_%d\0HIP_LAUNCH_BLOCKING_X\0"s;
  EXPECT_EQ(ReadsVariable(library, "HSA_XNACK"), Reads::kYes);
  EXPECT_EQ(ReadsVariable(library, "HSA_OVERRIDE_GFX_VERSION_3"), Reads::kYes);
  EXPECT_EQ(ReadsVariable(library, "HIP_LAUNCH_BLOCKING"),
            Reads::kNo);  // only the start of another
  EXPECT_EQ(ReadsVariable(library, "HSA_XNAC"), Reads::kNo);
  EXPECT_EQ(ReadsVariable("", "HSA_XNACK"), Reads::kNo);
  // As movabs and mov write a short text.
  const std::string pieces = "\x48\xb8HSA_CU_M\x48\x89\x45\xc0\xc7\x45\xc7MASK\x00"s;
  EXPECT_EQ(ReadsVariable(pieces, "HSA_CU_MASK"), Reads::kPerhaps);
  EXPECT_EQ(ReadsVariable(pieces, "HSA_CU_MOON"), Reads::kNo);
  EXPECT_EQ(VariablesIn(library), (std::set<std::string>{"HIP_LAUNCH_BLOCKING_X", "HSA_XNACK"}));
}

TEST(RuntimesTest, TakesWhatTheProbeCouldSay) {
  Runtime hsa, hip;
  ReadProbe(
      "{\"runtime\":\"hsa\",\"version\":\"\\\"1.18\\\"\",\"gpus\":[{\"name\":\"gfx90a\",\"bdf\":"
      "768,"
      "\"isas\":[\"amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-\"]}]}\n{\"runtime\":\"hi",
      "was killed by signal 11", &hsa, &hip);
  ASSERT_EQ(hsa.gpus.size(), 1u);
  EXPECT_EQ(hsa.version, "1.18");
  EXPECT_EQ(hsa.gpus[0].target, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(hsa.gpus[0].processor(), "gfx90a");
  EXPECT_EQ(hsa.gpus[0].pci, "0000:03:00.0");
  EXPECT_EQ(hip.error, "the HIP runtime was killed by signal 11");
  Runtime silent_hsa, silent_hip;
  ReadProbe("[1]\nnull\n", "did not end", &silent_hsa, &silent_hip);
  EXPECT_EQ(silent_hsa.error, "the HSA runtime did not end");
  EXPECT_EQ(silent_hip.error, "was not asked");
}

TEST(RuntimesTest, TakesEveryLayoutOfAmdSmi) {
  const char* const inner =
      R"({"gpu":0,"asic":{"market_name":"X","num_compute_units":304},"bus":{"bdf":"0000:03:00.0"}})";
  for (const std::string& text :
       {"["s + inner + "]", "{\"gpu_data\":["s + inner + "]}", ""s + inner}) {
    const Runtime smi = ReadSmi(text);
    ASSERT_EQ(smi.gpus.size(), 1u) << text;
    EXPECT_EQ(smi.gpus[0].compute_units, 304u);
    EXPECT_EQ(smi.gpus[0].pci, "0000:03:00.0");
  }
  EXPECT_FALSE(ReadSmi("Traceback").error.empty());
}

TEST(SettingsTest, ReadsAMatrix) {
  const auto settings = ParseSettings("# c\n\none: A=1 -B  # d\nP=x:y=z\n");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  ASSERT_EQ(settings.value().size(), 3u);
  EXPECT_EQ(settings.value()[1].Text(), "A=1 -B");
  EXPECT_EQ(settings.value()[2].name, "P=x:y=z");
  Environment environment = {{"B", "2"}};
  settings.value()[1].ApplyTo(&environment);
  EXPECT_EQ(environment, (Environment{{"A", "1"}}));
  for (const char* bad : {"", "# only\n", "a:\n", "a: B\n", "a: 1B=2\n", "a: A=1\na: A=2\n"})
    EXPECT_FALSE(ParseSettings(bad).ok()) << bad;
}

TEST(OutcomeTest, PicksTheTellingLine) {
  EXPECT_EQ(FailureMessage("", "warming up\nMemory access fault by GPU node-1\nbye\n"),
            "Memory access fault by GPU node-1");
  EXPECT_EQ(FailureMessage("", "Traceback (most recent call last):\n  x\nValueError: y\n"),
            "ValueError: y");
  EXPECT_EQ(FailureMessage("a\nHIP error: invalid device function\n", "later\n"),
            "HIP error: invalid device function");
  EXPECT_EQ(FailureMessage("last words\n", ""), "last words");
  EXPECT_EQ(FailureMessage("", ""), "");
}

}  // namespace
}  // namespace rochound::doctor
