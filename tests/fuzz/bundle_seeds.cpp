// SPDX-License-Identifier: MIT
//
// Makes the seeds of fuzz_bundle: bundle_seeds FOLDER. They are kept in tests/fuzz/corpus/bundle,
// so this runs only when the format grows.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "capture/layout.h"
#include "capture/pack.h"
#include "capture/test_bundle.h"
#include "fuzz/bundle_input.h"

namespace {

namespace fs = std::filesystem;
using namespace rochound::capture;
using namespace rochound::fuzz;

std::string Content(const fs::path& path) { return rochound::base::ReadFile(path).value(); }

BundleInput Read(const fs::path& bundle) {
  BundleInput input;
  input.manifest = Content(bundle / kManifestName);
  input.parts = {Content(bundle / kBeforeIndexName).substr(sizeof(IndexHeader)),
                 Content(bundle / kBeforeDataName),
                 Content(bundle / kAfterIndexName).substr(sizeof(IndexHeader)),
                 Content(bundle / kAfterDataName),
                 Content(bundle / kKernargName),
                 Content(bundle / kCodeObjectName)};
  return input;
}

void Save(const fs::path& folder, const std::string& name, BundleInput input, uint8_t choice) {
  input.choice = choice;
  const std::string text = Encode(input);
  std::ofstream(folder / name, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

TestLaunch TinyLaunch() {
  TestLaunch launch = SmallLaunch();
  launch.manifest.regions = {TestRegion(0x10000000, 600, true), TestRegion(0x20000000, 40, true)};
  launch.before = {Bytes(600, std::byte{'a'}), RandomBytes(40, 31)};
  launch.after = launch.before;
  launch.after[0][50] = std::byte{'b'};
  launch.after[1].assign(40, std::byte{0});
  return launch;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: bundle_seeds FOLDER\n");
    return 2;
  }
  const fs::path folder = arguments[1];
  fs::create_directories(folder);
  const auto work = rochound::base::TempDir::Create(fs::temp_directory_path(), "rochound-seeds-");
  for (const auto& [name, launch] :
       {std::pair("tiny", TinyLaunch()), std::pair("small", SmallLaunch())}) {
    const fs::path bundle = work.value().path() / name;
    WriteBundle(bundle, launch);
    Save(folder, name + std::string("-raw"), Read(bundle), 0);
    Save(folder, name + std::string("-raw-kept"), Read(bundle),
         BundleInput::kKeepExtents | BundleInput::kKeepKernarg);
    Save(folder, name + std::string("-raw-pack"), Read(bundle), BundleInput::kPack);
    BundleInput as_it_stands = Read(bundle);
    as_it_stands.parts[0] = Content(bundle / kChecksumsName);
    Save(folder, name + std::string("-checksums"), as_it_stands, BundleInput::kAsItStands);
    if (!Pack(bundle, bundle, {.level = 19}).ok()) return 1;
    Save(folder, name + std::string("-packed"), Read(bundle), 0);
  }
  return testing::Test::HasFailure() ? 1 : 0;
}
