#include "cli/command/perf_options.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/items.h"

namespace zs::cli {
namespace {

using enum Standing;

/// perf's verbs that have options of their own, as bits of a set.
enum : std::uint16_t {
  kRecord = 1,
  kStat = 1 << 1,
  kTrace = 1 << 2,
  kMemRecord = 1 << 3,
  kC2cRecord = 1 << 4,
  kReport = 1 << 5,
  kScript = 1 << 6,
  kAnnotate = 1 << 7,
  kMemReport = 1 << 8,
  kC2cReport = 1 << 9,
  kList = 1 << 10,
};

/// Whose options perf's verb has: its own come first.
struct VerbOptions {
  std::string_view verb;
  std::uint16_t own, passed_on = 0;
};
constexpr VerbOptions kVerbs[] = {{"record", kRecord},
                                  {"stat", kStat},
                                  {"trace", kTrace},
                                  {"mem record", kMemRecord, kRecord},
                                  {"c2c record", kC2cRecord, kRecord},
                                  {"report", kReport},
                                  {"script", kScript},
                                  {"annotate", kAnnotate},
                                  {"mem report", kMemReport, kReport},
                                  {"c2c report", kC2cReport},
                                  {"list", kList}};

/// What becomes of some options of these verbs. An option is its names and its value; a letter in brackets is perf's
/// for it, and means something else here.
struct Answer {
  std::uint16_t verbs;
  Standing standing;
  std::string_view text, options;
};

constexpr std::string_view kRings = "of the kernel's rings and who reads them";
constexpr std::string_view kAlways = "each sample has it";
constexpr std::string_view kBpf = "no BPF program is loaded";
constexpr std::string_view kCgroup = "no cgroup is watched: name a program, or its processes with -p";
constexpr std::string_view kKernel = "kernel symbols are of the running kernel, or of ~/.debug";
constexpr std::string_view kPages = "pages are text: on a terminal they open in a pager";
constexpr std::string_view kDump = "perf report -D -i FILE reads the file, too";

// clang-format off
constexpr Answer kAnswers[] = {
    {kStat, Same, "",
     "-d --detailed, -j --json-output, -M --metrics METRIC, -n --null, -x --field-separator SEP, --append, "
     "--log-fd N, --post COMMAND, --pre COMMAND, --table, --timeout MS"},
    {kRecord, Same, "",
     "-b --branch-any, -c --count N, -d --data, -I --intr-regs [=REG], -j --branch-filter MASK, "
     "-m --mmap-pages PAGES, -W --weight, -z --compression-level [=N], --call-graph MODE, --per-thread"},
    {kReport, Same, "",
     "-b --branch-stack, -F --fields KEY, -g --call-graph [=HOW], -n --show-nr-samples, -s --sort KEY, "
     "-t --field-separator SEP, -U --hide-unresolved, --percent-limit PERCENT, --percentage HOW, --show-total-period"},
    {kReport | kScript, Same, "",
     "-c --comms COMM, -S --symbols SYMBOL, --header, --header-only, --inline, --max-stack N, --pid PID, --tid TID, "
     "--time SPAN"},
    {kScript, Same, "", "-F --fields FIELD, -G --hide-call-graph, --deltatime, --dsos DSO, --ns, --reltime"},
    {kRecord | kStat, Same, "", "-a --all-cpus, -e --event EVENT, -i --no-inherit, -o --output FILE, --all-user"},
    {kC2cReport, Same, "", "-c --coalesce FIELDS, -d --display WHAT, --no-source, --show-all, --stats"},
    {kAnnotate, Same, "", "-l --print-line, -M --disassembler-style STYLE, -s --symbol SYMBOL"},
    {kMemRecord, Same, "", "-t --type TYPE, -U --all-user, --ldlat N"},
    {kC2cRecord, Same, "", "-l --ldlat N, -u --all-user"},
    {kReport | kScript | kAnnotate | kMemReport, Same, "", "-C --cpu CPU"},
    {kReport | kAnnotate, Same, "", "-d --dsos DSO"},
    {kReport | kScript | kAnnotate | kMemReport | kC2cReport, Same, "", "-i --input FILE"},
    {kRecord | kReport, Same, "", "-q --quiet"},
    {kRecord | kStat | kMemRecord | kC2cRecord | kTrace, Same, "", "-v --verbose"},
    {kTrace, Same, "", "--no-inherit"},
    {kReport | kAnnotate | kC2cReport, Same, "", "--stdio"},
    {kReport | kScript | kAnnotate, Same, "", "--symfs DIR"},
    {kRecord | kStat | kMemRecord, Same, "--cpu with a CPU model's name chooses the model", "-C --cpu CPU"},
    {kRecord, Same, "of the software PMU's samples", "-D --delay MS"},
    {kRecord, Same, "by unwind tables, without frame pointers", "-g"},
    {kRecord | kStat, Same, "by the kernel's counters", "-p --pid PID, -t --tid TID, --all-kernel"},
    {kMemRecord, Same, "by the kernel's counters", "-K --all-kernel"},
    {kC2cRecord, Same, "by the kernel's counters", "-k --all-kernel"},
    {kStat, Same, "0, for ever, is refused", "-r --repeat N"},
    {kRecord, Same, "enable, disable, ping; stop disables", "--control WHERE"},
    {kStat, Same, "of each thread, where the software PMU counts", "--interval-count N"},
    {kReport | kScript, Same, "of a branch trace, its branches", "--itrace [=OPTS]"},
    {kStat, Same, "of programs that are started too", "--per-thread"},
    {kScript, NoMatter, "all samples are printed", "-a --all-cpus"},
    {kStat, NoMatter, "numbers have separators", "-B --big-num"},
    {kRecord, NoMatter, "build ids of the files that samples are in are kept, at no cost",
     "-B --no-buildid, --buildid-all, --buildid-mmap"},
    {kRecord, NoMatter, kAlways, "-P --period, -T --timestamp, --sample-cpu, --sample-identifier"},
    {kMemRecord | kC2cRecord, NoMatter, kAlways, "-d --data, -W --weight"},
    {kScript, NoMatter, "order and losses are always looked at", "-d --debug-mode"},
    {kList, NoMatter, "each event has its description", "-d --desc"},
    {kMemRecord, NoMatter, "of reading a recording", "-i --input FILE, -x --field-separator SEP, --hide-unresolved"},
    {kMemRecord | kTrace, NoMatter, "of reading a recording", "-f --force"},
    {kReport | kScript | kAnnotate | kMemReport | kC2cReport, NoMatter, "a recording of another user is read too",
     "-f --force"},
    {kStat, NoMatter, "all events are counted at the same time", "-g --group, --metric-no-group, --metric-no-merge"},
    {kRecord, NoMatter, "times are of one clock", "-k --clockid CLOCK"},
    {kScript, NoMatter, "of the kernel's tracers", "-L --Latency"},
    {kReport, NoMatter, "annotate has it: report shows no instructions", "-M --disassembler-style STYLE"},
    {kRecord, NoMatter, kRings,
     "-r --realtime N, --affinity HOW, --aio [=N], --mmap-flush N, --no-buffering, --num-thread-synthesize N, "
     "--synth WHAT, --tail-synthesize, --threads [=SPEC]"},
    {kTrace, NoMatter, kRings, "-m --mmap-pages PAGES"},
    {kRecord | kTrace, NoMatter, kRings, "--proc-map-timeout MS"},
    {kReport | kAnnotate, NoMatter, kKernel, "-m --modules, --ignore-vmlinux"},
    {kRecord, NoMatter, "no such cache is written", "-N --no-buildid-cache"},
    {kC2cReport, NoMatter, "modelled cores are of one node", "-N --node-info"},
    {kAnnotate, NoMatter, "paths are in full", "-P --full-paths"},
    {kAnnotate, NoMatter, "warnings are on stderr", "-q --quiet"},
    {kStat, NoMatter, "counts do not depend on what the disk does", "-S --sync"},
    {kMemReport, NoMatter, "of recording", "-t --type TYPE"},
    {kScript, NoMatter, "-F says what is printed", "-v --verbose"},
    {kAnnotate, NoMatter, "--all shows each instruction", "-v --verbose"},
    {kC2cReport, NoMatter, "all is said", "-v --verbose"},
    {kReport, NoMatter, "annotate shows instructions", "--asm-raw"},
    {kReport, NoMatter, "it is so where there are call chains", "--children"},
    {kRecord, NoMatter, kBpf, "--clang-opt OPTIONS, --clang-path FILE, --no-bpf-event, --vmlinux FILE"},
    {kTrace, NoMatter, "trace report names threads", "--comm"},
    {kStat | kList, NoMatter, "modelled processors have cores of one kind", "--cputype TYPE"},
    {kStat, NoMatter, "modelled processors have cores of one kind", "--hybrid-merge"},
    {kList, NoMatter, "of perf itself", "--debug"},
    {kTrace, NoMatter, "of perf itself", "--tool_stats"},
    {kReport | kScript | kAnnotate, NoMatter, "names are demangled; --no-demangle", "--demangle, --demangle-kernel"},
    {kList, NoMatter, "-v lists all names", "--deprecated"},
    {kList, NoMatter, "each event has its encoding", "--details"},
    {kReport, NoMatter, "of perf report -D", "--disable-order"},
    {kRecord, NoMatter, "the recorder is not recorded", "--exclude-perf"},
    {kC2cReport, NoMatter, "symbols are in full", "--full-symbols"},
    {kStat, NoMatter, "intervals are lines below each other", "--interval-clear"},
    {kScript, NoMatter, "of field brstackinsn", "--max-blocks N"},
    {kTrace, NoMatter, "stacks are as deep as calls were", "--max-stack N, --min-stack N"},
    {kStat, NoMatter, "intervals have no summary", "--no-csv-summary"},
    {kStat, NoMatter, "no event is there twice", "--no-merge"},
    {kReport, NoMatter, "no column is a time", "--ns"},
    {kReport | kAnnotate, NoMatter, "the decoder is built in", "--objdump FILE"},
    {kReport, NoMatter, "of annotate", "--percent-type TYPE"},
    {kStat, NoMatter, "no event is of a whole core", "--percore-show-thread"},
    {kReport, NoMatter, "of counts by thread", "--pretty HOW"},
    {kReport, NoMatter, "of tracepoints", "--raw-trace"},
    {kRecord, NoMatter, "counters of the software PMU always run", "--running-time"},
    {kReport, NoMatter, "of perf's browser", "--samples N"},
    {kStat, NoMatter, "no counter shares its place in time", "--scale"},
    {kScript, NoMatter, "there are none",
     "--show-bpf-events, --show-cgroup-events, --show-namespace-events, --show-switch-events, --show-text-poke-events"},
    {kReport | kScript, NoMatter, "of --switch-on", "--show-on-off-events"},
    {kReport, NoMatter, "each event has its own chains", "--show-ref-call-graph"},
    {kReport, NoMatter, "an event without samples has no table", "--skip-empty"},
    {kAnnotate, NoMatter, "functions without code are passed over, and that is said", "--skip-missing"},
    {kTrace, NoMatter, "branches come in their order", "--sort-events"},
    {kReport, NoMatter, "annotate shows source lines", "--source"},
    {kAnnotate, NoMatter, "it is so; --no-source", "--source"},
    {kAnnotate, NoMatter, kPages, "--stdio2"},
    {kRecord, NoMatter, "no limit lowers -F", "--strict-freq"},
    {kReport, NoMatter, "of -s time", "--time-quantum TIME"},
    {kRecord, NoMatter, "the recording says it", "--timestamp-boundary"},
    {kStat, Otherwise, "one sum of all CPUs: -C CPU counts on one", "-A --no-aggr"},
    {kStat, Otherwise, "as in perf where the kernel counts, but for -1; the software PMU's counts are of the whole run",
     "-D --delay MS"},
    {kMemRecord, Otherwise, "events as record takes them; -t load, -t store choose perf mem's two", "-e --event EVENT"},
    {kC2cRecord, Otherwise, "events as record takes them", "-e --event EVENT"},
    {kRecord, Otherwise, "a second is 1,000,000,000 instructions of the software PMU", "-F --freq N"},
    {kReport, Otherwise, "-g caller draws graphs from callers on", "-G --inverted"},
    {kTrace, Otherwise, "-i leaves children alone; --input FILE is a recording of branches", "-i --input FILE"},
    {kStat, Otherwise, "a millisecond is 1,000,000 instructions of a thread", "-I --interval-print MS"},
    {kReport | kScript, Otherwise, "--header says what the recording says of itself", "-I --show-info"},
    {kReport | kScript | kAnnotate | kC2cReport, Otherwise, kKernel, "-k --vmlinux FILE"},
    {kReport | kScript, Otherwise, kKernel, "--kallsyms FILE"},
    {kScript, Otherwise, kKernel, "--show-kernel-path"},
    {kAnnotate, Otherwise, "shares alone are printed, with the number of samples above",
     "-n --show-nr-samples, --show-total-period"},
    {kTrace, Otherwise, "the recording; trace report prints", "-o --output FILE"},
    {kMemRecord, Otherwise, "watches a process: perf mem's -p is --phys-data", "-p PID"},
    {kMemRecord, Otherwise, "programs have no physical addresses here; c2c record --pmu=hw has them",
     "(-p) --phys-data"},
    {kRecord, Otherwise, "programs have no physical addresses here; c2c record --pmu=hw has them", "--phys-data"},
    {kMemReport, Otherwise, "programs have no physical addresses here", "-p --phys-data"},
    {kRecord, Otherwise, "the PEBS record, for script --raw", "-R --raw-samples"},
    {kTrace, Otherwise, "keeps the last N branches: perf trace's -S is --with-summary", "-S N"},
    {kRecord, Otherwise, "the last N branches of a trace", "-S --snapshot N"},
    {kRecord, Otherwise, "no counts by thread are in the recording: stat --per-thread prints them", "-s --stat"},
    {kReport, Otherwise, "no counts by thread are in the recording: stat --per-thread prints them", "-T --threads"},
    {kList, Otherwise, "-v lists aliases and what is not modelled", "-v --long-desc"},
    {kReport, Otherwise, "-s ip,symbol shows addresses", "-v --verbose"},
    {kReport, Otherwise, "-w shows names in full; --width COLUMNS bounds the page", "-w --column-widths WIDTHS"},
    {kRecord, Otherwise, "records of that kind are not kept", "--all-cgroups, --namespaces, --switch-events"},
    {kAnnotate, Otherwise, "instructions have no bytes beside them: objdump -d shows them", "--asm-raw"},
    {kRecord, Otherwise, "samples have no page sizes", "--code-page-size"},
    {kRecord | kMemRecord | kMemReport, Otherwise, "samples have no page sizes", "--data-page-size"},
    {kRecord, Otherwise, "DEBUGINFOD_URLS names the servers, for report and annotate too", "--debuginfod [=URLS]"},
    {kRecord, Otherwise, "of a branch trace alone: trace", "--filter FILTER"},
    {kTrace, Otherwise, "filters branches: `filter FUNCTION`", "--filter FILTER"},
    {kReport, Otherwise, "source lines are FILE:LINE; annotate -l has them", "--full-source-path"},
    {kScript, Otherwise, "source lines are FILE:LINE", "--full-source-path"},
    {kRecord, Otherwise, "-e '{EVENT,EVENT}' makes a group", "--group"},
    {kReport, Otherwise, "an event has a table of its own", "--group, --group-sort-idx N"},
    {kAnnotate, Otherwise, "an event has a page of its own", "--group"},
    {kScript, Otherwise, "recordings of guests are made from inside, or by linux --record",
     "--guest-code, --guestkallsyms FILE, --guestmodules FILE, --guestmount DIR, --guestvmlinux FILE"},
    {kAnnotate, Otherwise, "of a branch trace script and report read branches", "--itrace [=OPTS]"},
    {kRecord, Otherwise, "the kernel's code is not kept", "--kcore"},
    {kRecord, Otherwise, "call chains hold what the event sees", "--kernel-callchains, --user-callchains"},
    {kRecord, Otherwise, "of a branch trace alone, the last branches of which are kept", "--max-size SIZE"},
    {kStat, Otherwise, "one sum of all cores: -C CPU counts on one", "--per-core"},
    {kStat, Otherwise, "one sum of all dies: -C CPU counts on one", "--per-die"},
    {kStat, Otherwise, "one sum of all nodes: -C CPU counts on one", "--per-node"},
    {kStat, Otherwise, "one sum of all sockets: -C CPU counts on one", "--per-socket"},
    {kAnnotate, Otherwise, "functions are shown by name, or the hottest", "--percent-limit PERCENT"},
    {kAnnotate, Otherwise, "shares are of the function's periods, perf's local-period", "--percent-type TYPE"},
    {kReport | kAnnotate, Otherwise, "--symfs DIR looks for programs; sources are where debug information says",
     "--prefix DIR, --prefix-strip N"},
    {kStat, Otherwise, "no progress line: -o /dev/null prints nothing", "--quiet"},
    {kReport | kAnnotate, Otherwise, "--color auto|always|never", "--stdio-color MODE"},
    {kReport | kScript | kC2cReport, Otherwise, "branches of call stacks are taken as they were recorded",
     "--stitch-lbr"},
    {kStat, Otherwise, "intervals have no summary: leave -I out", "--summary"},
    {kStat, Otherwise, "zeroskid topdown PROGRAM, with intervals", "--topdown"},
    {kRecord, Otherwise, "samples have no flags of transactions", "--transaction"},
    {kReport | kAnnotate, Otherwise, kPages, "--tui"},
    {kRecord, Otherwise, "--intr-regs are registers of user space", "--user-regs [=REG]"},
    {kTrace, Refused,
     "start the program under zeroskid; `zeroskid record` and `zeroskid stat` can attach, by the kernel's counters",
     "-a --all-cpus, -p --pid PID, -t --tid TID"},
    {kTrace, Refused, "perf trace shows system calls, and trace records branches: strace shows the former",
     "-C --cpu CPU, -e --event EVENT, (-S) --with-summary, -u --uid USER, --duration MS, --errno-summary, "
     "--expr LIST, --failure, --filter-pids PIDS, --kernel-syscall-graph, --libtraceevent_print, --sched, "
     "--show-on-off-events, --syscalls"},
    {kTrace, Refused, "--region WHERE takes a part of a run", "-D --delay MS, --switch-off EVENT, --switch-on EVENT"},
    {kMemRecord | kMemReport, Refused, "script -F ip,addr,data_src,weight prints the samples", "-D --dump-raw-samples"},
    {kReport | kScript | kAnnotate, Refused, kDump, "-D --dump-raw-trace"},
    {kScript, Refused, kDump, "--dump-unsorted-raw-trace"},
    {kTrace, Refused, "record -e page-faults -c 1 samples each page fault", "-F --pf WHICH"},
    {kC2cReport, Refused, "report -g draws the chains of all samples", "-g --call-graph HOW"},
    {kRecord | kStat | kTrace, Refused, kCgroup, "-G --cgroup NAME"},
    {kStat, Refused, kCgroup, "--for-each-cgroup NAME"},
    {kScript, Refused, "script prints text: read it with any language",
     "-g --gen-script LANGUAGE, -l --list, -s --script NAME"},
    {kRecord, Refused, "stat counts, and takes no samples", "-n --no-samples"},
    {kReport, Refused, "-s caller names who called", "-p --parent REGEX, -x --exclude-other"},
    {kTrace, Refused, "perf trace sums system calls: strace -c PROGRAM; trace report counts calls of functions",
     "-s --summary"},
    {kTrace, Refused, "a trace of branches has no times", "-T --time"},
    {kStat, Refused, "no model has transactions", "-T --transaction"},
    {kMemReport, Refused, "-s symbol | grep -v 0x", "-U --hide-unresolved"},
    {kRecord, Refused, "lists and programs: -p PID[,PID...] watches those of a user, as pgrep -u USER -d, has them",
     "-u --uid USER"},
    {kMemReport, Refused, "script -F has fields for programs", "-x --field-separator SEP"},
    {kScript, Refused, "-F ip prints addresses", "--addr-range N"},
    {kRecord, Refused, "samples have no piece of a trace: -b has the last branches of each", "--aux-sample [=OPTS]"},
    {kReport, Refused, "-b shows branches; trace report their calls", "--branch-history"},
    {kTrace, Refused, "trace report finds the calls from the branches", "--call-graph MODE"},
    {kScript, Refused, "trace report shows calls", "--call-ret-trace [=OPTS], --call-trace [=OPTS]"},
    {kStat, Refused, "--region WHERE counts a part of a run; zeroskid/region.h marks it in the source",
     "--control WHERE"},
    {kScript, Refused, "no filters are loaded: grep", "--dlarg ARGUMENT, --dlfilter FILE, --list-dlfilters"},
    {kRecord, Refused, "stat true and record true cost a moment, and say whether options are right", "--dry-run"},
    {kStat, Refused, "tracepoints are not counted", "--filter FILTER"},
    {kScript, Refused, "trace --region FUNCTION records one function and what it calls", "--graph-function SYMBOL"},
    {kReport, Refused, "-s KEY,KEY makes a line of each pair", "--hierarchy"},
    {kReport, Refused, "--max-stack N cuts chains", "--ignore-callees REGEX"},
    {kScript, Refused, "--max-stack N cuts chains", "--stop-bt SYMBOL"},
    {kScript, Refused, "annotate shows instructions", "--insn-trace [=HOW], --xed [=OPTS]"},
    {kStat, Refused, "no model has I/O counters", "--iostat [=PORT]"},
    {kTrace, Refused, kBpf, "--map-dump MAP"},
    {kTrace, Refused, "-S N keeps the last N branches", "--max-events N"},
    {kReport, Refused, "mem report has memory's keys", "--mem-mode"},
    {kStat, Refused, "-M METRIC has its events beside it", "--metric-only"},
    {kReport, Refused, "perf report --mmaps reads the file, too", "--mmaps"},
    {kRecord, Refused, "it takes a BPF program: -e context-switches samples where threads leave", "--off-cpu"},
    {kRecord, Refused, "trace -S N keeps the last branches, and record all samples", "--overwrite"},
    {kScript, Refused, "-F event prints it", "--per-event-dump"},
    {kTrace, Refused, "script prints branches one by one", "--print-sample"},
    {kReport, Refused, "-s cpu,symbol has a line for each CPU", "--show-cpu-utilization"},
    {kScript, Refused, "records of that kind are not printed: perf script reads the file, too",
     "--show-lost-events, --show-mmap-events, --show-round-events, --show-task-events"},
    {kStat, Refused, "no model has system management", "--smi-cost"},
    {kReport, Refused, "modelled cores are of one socket", "--socket-filter N"},
    {kReport, Refused, "perf report --stats reads the file, too", "--stats"},
    {kRecord, Refused, "a recording is one file; --max-size bounds a branch trace",
     "--switch-max-files N, --switch-output [=WHEN], --switch-output-event EVENT"},
    {kReport | kScript, Refused, "trace --region WHERE takes a part of a run", "--switch-off EVENT, --switch-on EVENT"},
    {kReport, Refused, "-S NAME[,NAME...] takes whole names", "--symbol-filter TEXT"},
    {kReport, Refused, "perf report --tasks reads the file, too", "--tasks"},
    {kStat, Refused, "topdown --level N", "--td-level N"},
    {kRecord, Refused, "-o FILE with the time in its name: -o perf.data.$(date +%s)", "--timestamp-filename"},
    {kReport, Refused, "record -b keeps branches; topdown and annotate show where cycles go", "--total-cycles"},
};

constexpr PerfVerb kPerfVerbs[] = {
    {"archive",       "copy the recording and the programs it names: report --symfs DIR reads them from DIR"},
    {"bench",         "perf bench measures the kernel; it runs under zeroskid stat and record as any program"},
    {"buildid-cache", "programs are looked for where they were, and in ~/.debug; perf buildid-cache fills that"},
    {"buildid-list",  "perf buildid-list -i FILE reads recordings of zeroskid"},
    {"config",        "there is no file of settings: options and environment say all"},
    {"daemon",        "zeroskid record runs until its program ends"},
    {"data",          "zeroskid script prints samples as text; perf data convert reads recordings of zeroskid"},
    {"evlist",        "zeroskid report --header-only lists the events of a recording"},
    {"ftrace",        "it traces the kernel's functions; zeroskid trace records those of a program"},
    {"inject",        "zeroskid record knows the code of JIT compilers and the build ids by itself"},
    {"iostat",        "no model has I/O counters"},
    {"kallsyms",      "/proc/kallsyms has the kernel's symbols"},
    {"kmem",          "it traces the kernel's allocations; zeroskid mem record names blocks of the program's heap"},
    {"kvm",           "zeroskid linux --record samples a guest's kernel and programs from outside"},
    {"kwork",         "it traces the kernel's work"},
    {"lock",          "it traces locks of the kernel; zeroskid c2c record shows what threads wait for each other"},
    {"probe",         "zeroskid stat --region FUNCTION counts between places, without changing the program"},
    {"sched",         "it traces the kernel's scheduler"},
    {"test",          "zeroskid doctor says what works here"},
    {"timechart",     "zeroskid plot draws what zeroskid stat -I wrote"},
    {"top",           "zeroskid record PROGRAM; zeroskid report. A running process: zeroskid record -p PID"},
    {"version",       "zeroskid --version"},
};
// clang-format on

/// Of "-c --count N".
PerfOption option_of(const Answer& answer, std::string_view option) {
  const std::size_t last = option.rfind(' ') + 1;  // 0: one name alone
  const bool has_value = option[last] != '-';
  const std::string_view value = has_value ? option.substr(last) : "";
  if (has_value) option = option.substr(0, last - 1);
  return {option, value, answer.standing, answer.text};
}

std::vector<PerfOption> options_of(std::uint16_t verb) {
  std::vector<PerfOption> all;
  for (const Answer& answer : kAnswers) {
    if ((answer.verbs & verb) == 0) continue;
    for (const std::string_view option : items_of(answer.options)) {
      all.push_back(option_of(answer, option.substr(option.starts_with(' ') ? 1 : 0)));
    }
  }
  // By letter in either case, then by long name; those without a letter come last.
  std::ranges::sort(all, {}, [](const PerfOption& option) {
    const std::string_view names = option.names.substr(option.names.starts_with('(') ? 1 : 0);
    const std::size_t dashes = names.find("--");
    return std::tuple(dashes == 0, dashes == 0 ? '-' : std::tolower(names[1]),
                      dashes == names.npos ? "" : names.substr(dashes));
  });
  for (PerfOption& option : all) {
    if (option.names.starts_with('(')) option.names.remove_prefix(option.names.find("--"));
  }
  return all;
}

}  // namespace

std::vector<PerfOption> perf_options(std::string_view verb) {
  const auto rows = std::ranges::find(kVerbs, verb, &VerbOptions::verb);
  if (rows == std::end(kVerbs)) return {};
  std::vector<PerfOption> all = options_of(rows->own);
  std::vector<std::string_view> own;
  for (const PerfOption& option : all) {
    for (const std::string_view name : items_of(option.names, ' ')) own.push_back(name);
  }
  const auto is_own = [&](std::string_view name) { return std::ranges::find(own, name) != own.end(); };
  for (PerfOption row : options_of(rows->passed_on)) {
    const std::size_t first = std::min(row.names.find(' '), row.names.size());
    if (first < row.names.size() && is_own(row.names.substr(first + 1))) row.names = row.names.substr(0, first);
    if (is_own(row.names.substr(0, first))) row.names.remove_prefix(std::min(first + 1, row.names.size()));
    if (!row.names.empty()) all.push_back(row);
  }
  return all;
}

std::span<const PerfVerb> perf_verbs() { return kPerfVerbs; }

}  // namespace zs::cli
