// SPDX-License-Identifier: MIT
#include "cli/variables.h"

#include "contract/variables.h"

namespace rochound::cli {
namespace {

constexpr EnvironmentVariable kVariables[] = {
    // What a person sets.
    {"ROCHOUND_LOG", SetBy::kPerson, "every command", "error, warning, info or debug",
     "The least important messages that are shown on stderr. Default: info."},
    {"ROCHOUND_CONTROL_DIR", SetBy::kPerson, "recorder, rochound ctl", "a folder, or empty",
     "Where recorded programs have their control sockets. Empty: they have none and cannot be "
     "controlled. Default: XDG_RUNTIME_DIR/rochound, and /tmp/rochound-UID."},
    {contract::variables::kHang, SetBy::kPerson, "recorder", "a time such as 120s, or 0",
     "How long a queue may make no progress before it is recorded as a hang. 0: never. Default: "
     "30s."},
    {"RPDT_FILENAME", SetBy::kPerson, "rochound run, rpdTracerControl", "a file",
     "RPD's name for the trace, where -o does not say otherwise. Default: trace.rpd."},
    {"RPDT_AUTOSTART", SetBy::kPerson, "recorder", "0 or 1",
     "RPD's way to say that recording starts at once. Default: 1. ROCHOUND_START comes first."},
    {"RPDT_STACKFRAMES", SetBy::kPerson, "recorder", "0 or 1",
     "RPD's way to ask for call stacks, as rochound run --stacks does. Default: 0."},
    {"LOGDUR_KERNEL_CACHE", SetBy::kPerson, "rochound run, rochound probe", "a folder",
     "Kernels to swap in, as run --kernel-cache and probe -c say it."},
    {"LOGDUR_LOG_LOCATION", SetBy::kPerson, "rochound run, rochound log, rochound probe",
     "a file, or console",
     "Where lines with the duration of each kernel go (run and log with --durations), or the "
     "messages of probes. Default: stdout."},
    {"LOGDUR_FILTER", SetBy::kPerson, "rochound probe", "a regular expression",
     "Kernels to probe, as probe --kernel says it."},
    {"LOGDUR_DISPATCHES", SetBy::kPerson, "rochound probe", "all, first, random or a number",
     "Dispatches to probe, as probe -d says it."},
    {"LOGDUR_HANDLERS", SetBy::kPerson, "rochound probe", "a list with commas",
     "Analyzers, as probe -a says it."},
    {"LOGDUR_LOG_FORMAT", SetBy::kPerson, "rochound probe", "jsonl, json or csv",
     "Format of messages, as probe -t says it."},
    {"LOGDUR_INSTRUMENTED", SetBy::kPerson, "rochound probe", "true or false",
     "false: record without probes, as probe --no-instrumented does. Default: true."},
    {"LOGDUR_LIBRARY_FILTER", SetBy::kPerson, "rochound probe", "anything",
     "Means nothing here; probe says so."},
    {"ROCHOUND_LLM_URL", SetBy::kPerson, "rochound optimize --llm", "an address up to /v1",
     "The server that is asked for candidates, by OpenAI's chat completions."},
    {"ROCHOUND_LLM_MODEL", SetBy::kPerson, "rochound optimize --llm", "a name",
     "The model that the server is asked for."},
    {"ROCHOUND_LLM_KEY", SetBy::kPerson, "rochound optimize --llm", "a key",
     "The key for the server, if it wants one. It is read once, taken out of the environment and "
     "never written down."},
    {"ROCHOUND_JOB", SetBy::kPerson, "rochoundd", "a name",
     "The job that a program belongs to, where no scheduler says it (SLURM_JOB_ID, "
     "TORCHELASTIC_RUN_ID, PBS_JOBID)."},
    {"ROCHOUND_RANK", SetBy::kPerson, "rochoundd", "a number",
     "The program's rank in its job, where no launcher says it (RANK, OMPI_COMM_WORLD_RANK, "
     "PMI_RANK, SLURM_PROCID)."},
    {"ROCHOUND_RANKS", SetBy::kPerson, "rochoundd", "a number",
     "How many ranks the job has, where no launcher says it (WORLD_SIZE, OMPI_COMM_WORLD_SIZE, "
     "PMI_SIZE, SLURM_NTASKS)."},

    // What rochound run tells the recorder. A person sets them where a program is started by
    // HSA_TOOLS_LIB alone.
    {contract::variables::kLogDir, SetBy::kOption, "rochound run --log-dir", "a folder",
     "Where the recorder writes the flight log. Without it nothing is recorded."},
    {contract::variables::kRecord, SetBy::kOption, "rochound run --no-hip, --hsa, --stacks",
     "a list of kernels, copies, hip, hsa, roctx, stacks",
     "What is recorded. Default: kernels,copies,hip,roctx."},
    {contract::variables::kStart, SetBy::kOption, "rochound run --start-off", "on or off",
     "Whether recording starts with the program. Default: on."},
    {contract::variables::kKeep, SetBy::kOption, "rochound run --last",
     "a time such as 30s, or a size such as 64MiB",
     "Only the end of the run is kept. Default: everything is."},
    {contract::variables::kDelay, SetBy::kOption, "rochound run --delay", "a time such as 5s",
     "Recording starts so long after the recorder was loaded. Default: at once."},
    {contract::variables::kDuration, SetBy::kOption, "rochound run --duration", "a time such as 5s",
     "Recording stops so long after it has started."},
    {contract::variables::kRange, SetBy::kOption, "rochound run --range",
     "a name; NAME* for any rest", "Records only inside roctx ranges of that name."},
    {contract::variables::kOverride, SetBy::kOption, "rochound run --override",
     "a list of cu=N, clock=MHZ, memory=GIB, name=TEXT",
     "Properties of the GPU that the program sees instead of the real ones."},
    {contract::variables::kFaultBundle, SetBy::kOption, "rochound run --fault-bundle", "1",
     "When a GPU fails, the launches that may have failed are captured, too."},
    {contract::variables::kSwapList, SetBy::kCommand, "rochound run --kernel-cache", "a file",
     "The kernels to swap in, as run has found them."},
    {contract::variables::kSwapShared, SetBy::kOption, "rochound run --kernel-cache-shared", "1",
     "Kernels of files that others may write to are used as well."},
    {contract::variables::kSwapAb, SetBy::kOption, "rochound run --swap-ab", "1",
     "Originals and their candidates alternate."},
    {contract::variables::kSwapVerify, SetBy::kOption, "rochound run --swap-verify", "a number",
     "So many launches of each swapped kernel are captured, to compare results afterwards."},

    // rochound capture.
    {contract::variables::kCaptureDir, SetBy::kCommand, "rochound capture", "a folder",
     "Where the launch is written. Without it nothing is captured."},
    {contract::variables::kCaptureKernel, SetBy::kOption, "rochound capture --kernel",
     "a regular expression", "Kernels whose launch is wanted. Default: any."},
    {contract::variables::kCaptureNth, SetBy::kOption, "rochound capture --nth",
     "a number from 1 on", "Which of those launches. Default: the first."},
    {contract::variables::kCaptureDispatch, SetBy::kOption, "rochound capture --dispatch",
     "a number from 1 on", "The launch of this number in the process, whatever its kernel."},
    {contract::variables::kCaptureShape, SetBy::kOption, "rochound capture --shape",
     "grid=1024x1x1,workgroup=256", "Only launches of this shape."},
    {contract::variables::kCaptureMemory, SetBy::kOption, "rochound capture --memory",
     "reachable or all", "Memory that is kept: what the launch's pointers lead to, or everything."},

    // rochound probe.
    {contract::variables::kProbeDir, SetBy::kCommand, "rochound probe", "a folder",
     "Where messages of probes are written. Without it probes are silent."},
    {contract::variables::kProbeKernel, SetBy::kOption, "rochound probe --kernel",
     "a regular expression", "Kernels whose probes speak."},
    {contract::variables::kProbeMode, SetBy::kOption, "rochound probe --drop", "throttle or drop",
     "What happens when messages come faster than they are read: waves wait, or lose them."},
    {contract::variables::kProbeLanes, SetBy::kOption, "rochound probe --lanes",
     "a hexadecimal mask", "Lanes whose accesses are reported."},
    {contract::variables::kProbeSample, SetBy::kOption, "rochound probe -d",
     "a number up to 4294967295",
     "The share of dispatches that are probed by chance; the highest number: all."},
    {contract::variables::kProbeBytes, SetBy::kOption, "rochound probe --buffer",
     "a number of bytes", "Size of the ring through which messages come."},
    {contract::variables::kProbeGroupsX, SetBy::kOption, "rochound probe --filter-x", "N or N:M",
     "Only workgroups N, or N to M-1, in x. rochound probe takes DH_COMMS_GROUP_FILTER_X, too."},
    {contract::variables::kProbeGroupsY, SetBy::kOption, "rochound probe --filter-y", "N or N:M",
     "The same in y."},
    {contract::variables::kProbeGroupsZ, SetBy::kOption, "rochound probe --filter-z", "N or N:M",
     "The same in z."},
    {contract::variables::kProbeWrites, SetBy::kCommand, "rochound probe -a uninit", "1",
     "The recorder writes down what copies and fills have written."},

    // rochound softgpu.
    {contract::variables::kSoftgpuRoot, SetBy::kCommand, "rochound softgpu", "a folder",
     "The device tree of the software GPUs. Without it the preloaded library does nothing."},
    {contract::variables::kSoftgpuThreads, SetBy::kOption, "rochound softgpu --threads", "a number",
     "Threads that execute kernels. Default: one for each processor."},
    {contract::variables::kSoftgpuFaults, SetBy::kOption, "rochound softgpu --strict, --fault",
     "a list with commas", "Unkind things that the software GPU does, as a GPU may."},
    {contract::variables::kSoftgpuFaultLog, SetBy::kOption, "rochound softgpu --fault-log",
     "a file", "Where it writes down what it did of these."},
    {contract::variables::kSoftgpuCounters, SetBy::kOption, "rochound softgpu --counters", "a file",
     "Where it writes what each dispatch did."},
    {contract::variables::kSoftgpuCountersCode, SetBy::kOption, "rochound softgpu --counters-code",
     "1", "Counts by instruction, too."},
    {contract::variables::kSoftgpuCaches, SetBy::kOption, "rochound softgpu --cache-model",
     "sizes, as softgpu writes them", "Caches are modelled for the counters."},
    {contract::variables::kSoftgpuAccesses, SetBy::kOption, "rochound softgpu --accesses", "a file",
     "Where it writes each access to memory."},
    {contract::variables::kSoftgpuAccessesKernel, SetBy::kOption,
     "rochound softgpu --accesses-kernel", "a regular expression",
     "Only accesses of these kernels."},
    {contract::variables::kSoftgpuAccessesDispatches, SetBy::kOption,
     "rochound softgpu --accesses-dispatch", "N[-M][,...]", "Only accesses of these dispatches."},

    {"ROCHOUND_TEST_FAIL_ALLOCATION", SetBy::kTest, "recorder", "a number",
     "This allocation of the recorder and all after it fail."},
    {"ROCHOUND_TEST_FAIL_CAPTURE_ALLOCATION", SetBy::kTest, "recorder", "a number",
     "The same for allocations of a capture."},
    {"ROCHOUND_TEST_FAIL_CHECK", SetBy::kTest, "recorder", "1",
     "A check of the recorder's own code fails at its start, in a build that has checks."},
    {"ROCHOUND_TEST_OPTIONS_RUN", SetBy::kTest, "every command", "a file",
     "The names of commands and options that were run are appended to it, without their values."},
};

}  // namespace

std::span<const EnvironmentVariable> EnvironmentVariables() { return kVariables; }

}  // namespace rochound::cli
