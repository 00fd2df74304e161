// perf.data as stock perf 6.1 reads it: the file header, event attributes, record types, sample fields and features.
// Facts only; perf_data_writer.h and perf_data_reader.h act on them.
// source: Linux 6.1, uapi perf_event.h and the documentation page "perf.data-file-format"; every layout here was read
//         back through stock perf 6.1 (tests/perf_reader).
// Everything is little-endian. A record is 8-byte aligned and at most 65535 bytes long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "arch/retired.h"
#include "base/bytes.h"

namespace zs::profile::perf {

// ---- the file ----------------------------------------------------------------------------------------------------

inline constexpr std::uint64_t kMagic = 0x32454C4946524550;           // "PERFILE2"
inline constexpr std::uint64_t kMagicBigEndian = 0x50455246494C4532;  // the same bytes, written by a big-endian perf
inline constexpr std::uint64_t kMagicVersion1 = 0x454C494646524550;   // "PERFFILE": perf before 2.6.37
inline constexpr std::uint64_t kPipeHeaderBytes = 16;  // the header of the pipe format: magic, and this number

struct Section {
  std::uint64_t offset = 0, size = 0;
  std::uint64_t end() const { return offset + size; }
};

struct FileHeader {
  std::uint64_t magic = kMagic;
  std::uint64_t header_bytes = 104;    // 08h; kPipeHeaderBytes in the pipe format, which has no sections
  std::uint64_t attr_entry_bytes = 0;  // 10h  attr.size + sizeof(Section)
  Section attrs;                       // 18h  one entry per event: attr, then the section of its ids
  Section data;                        // 28h  records back to back; the feature table begins where they end
  Section event_types;                 // 38h  obsolete
  std::uint64_t features[4] = {};      // 48h  bitmap of Feature
};
static_assert(WireLayout<FileHeader> && sizeof(FileHeader) == 104);
static_assert(offsetof(FileHeader, data) == 0x28 && offsetof(FileHeader, features) == 0x48);

// ---- events ------------------------------------------------------------------------------------------------------

enum class EventType : std::uint32_t { Hardware, Software, Tracepoint, HardwareCache, Raw, Breakpoint };

/// Of the PMU intel_bts. chosen: the kernel deals out the numbers behind its own types as PMUs register; a file says
/// which is whose in PMU_MAPPINGS and, of a trace, in AUXTRACE_INFO.
inline constexpr std::uint32_t kBranchTraceType = 6;

constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }
// Of each word of flags: the bits that are asked for by name, and `names`: what perf prints, by bit.

// clang-format off
/// struct perf_event_attr.
struct EventAttr {
  std::uint32_t type = 0;
  std::uint32_t size = 128;
  std::uint64_t config = 0;                    // 08h
  std::uint64_t sample_period = 0;             // 10h  or frequency in Hz, if attr_flag::frequency
  std::uint64_t sample_type = 0;               // 18h  of sample_field
  std::uint64_t read_format = 0;               // 20h  of read_format
  std::uint64_t flags = 0;                     // 28h  of attr_flag
  std::uint32_t wakeup = 0, bp_type = 0;       // 30h
  std::uint64_t config1 = 0, config2 = 0;      // 38h
  std::uint64_t branch_sample_type = 0;        // 48h  of branch_filter
  std::uint64_t sample_regs_user = 0;          // 50h  mask of Register
  std::uint32_t sample_stack_user = 0;         // 58h  bytes
  std::int32_t clockid = 0;
  std::uint64_t sample_regs_intr = 0;          // 60h  mask of Register
  std::uint32_t aux_watermark = 0;
  std::uint16_t sample_max_stack = 0, reserved2 = 0;
  std::uint32_t aux_sample_size = 0, reserved3 = 0;
  std::uint64_t sig_data = 0;                  // 78h
};
static_assert(WireLayout<EventAttr> && sizeof(EventAttr) == 128);
static_assert(offsetof(EventAttr, branch_sample_type) == 0x48 && offsetof(EventAttr, sample_regs_intr) == 0x60);
inline constexpr std::uint32_t kOldestAttrBytes = 64;

namespace attr_flag {
inline constexpr std::uint64_t disabled               = bit( 0);
inline constexpr std::uint64_t inherit                = bit( 1);
inline constexpr std::uint64_t exclude_user           = bit( 4);
inline constexpr std::uint64_t exclude_kernel         = bit( 5);
inline constexpr std::uint64_t exclude_hypervisor     = bit( 6);
inline constexpr std::uint64_t mmap                   = bit( 8);
inline constexpr std::uint64_t comm                   = bit( 9);
inline constexpr std::uint64_t frequency              = bit(10);
inline constexpr std::uint64_t enable_on_exec         = bit(12);
inline constexpr std::uint64_t task                   = bit(13);
inline constexpr std::uint64_t mmap_data              = bit(17);
inline constexpr std::uint64_t sample_id_all          = bit(18);
inline constexpr std::uint64_t exclude_guest          = bit(20);
inline constexpr std::uint64_t exclude_callchain_user = bit(22);
inline constexpr std::uint64_t mmap2                  = bit(23);
inline constexpr std::uint64_t comm_exec              = bit(24);
inline constexpr std::uint64_t cgroup                 = bit(32);
inline constexpr std::uint64_t build_id               = bit(34);
inline constexpr std::string_view names[] = {
    "disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
    "mmap", "comm", "freq", "inherit_stat", "enable_on_exec", "task", "watermark", "", "", "mmap_data",
    "sample_id_all", "exclude_host", "exclude_guest", "exclude_callchain_kernel", "exclude_callchain_user", "mmap2",
    "comm_exec", "use_clockid", "context_switch", "write_backward", "namespaces", "ksymbol", "bpf_event",
    "aux_output", "cgroup", "text_poke", "build_id", "inherit_thread", "remove_on_exec", "sigtrap"};
inline constexpr unsigned precise_shift = 15;  // bits 15 and 16: precise_ip, how many p
}  // namespace attr_flag

namespace read_format {
inline constexpr std::uint64_t total_time_enabled = bit( 0);
inline constexpr std::uint64_t total_time_running = bit( 1);
inline constexpr std::uint64_t id                 = bit( 2);
inline constexpr std::uint64_t group              = bit( 3);
inline constexpr std::uint64_t lost               = bit( 4);
inline constexpr std::string_view names[] = {
    "TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID", "GROUP", "LOST"};
inline constexpr std::uint64_t defined = (std::uint64_t{1} << 5) - 1;
}  // namespace read_format

namespace branch_filter {
inline constexpr std::uint64_t user           = bit( 0);
inline constexpr std::uint64_t kernel         = bit( 1);
inline constexpr std::uint64_t any            = bit( 3);
inline constexpr std::uint64_t any_call       = bit( 4);
inline constexpr std::uint64_t any_return     = bit( 5);
inline constexpr std::uint64_t indirect_call  = bit( 6);
inline constexpr std::uint64_t conditional    = bit(10);
inline constexpr std::uint64_t call_stack     = bit(11);
inline constexpr std::uint64_t indirect_jump  = bit(12);
inline constexpr std::uint64_t call           = bit(13);
inline constexpr std::uint64_t type_save      = bit(16);
inline constexpr std::uint64_t hardware_index = bit(17);
inline constexpr std::uint64_t counters       = bit(19);  // Linux 6.8: a word of each entry follows the entries
inline constexpr std::string_view names[] = {
    "USER", "KERNEL", "HV", "ANY", "ANY_CALL", "ANY_RETURN", "IND_CALL", "ABORT_TX", "IN_TX", "NO_TX", "COND",
    "CALL_STACK", "IND_JUMP", "CALL", "NO_FLAGS", "NO_CYCLES", "TYPE_SAVE", "HW_INDEX", "PRIV_SAVE", "COUNTERS"};
inline constexpr std::uint64_t defined = (std::uint64_t{1} << 20) - 1;
}  // namespace branch_filter
// clang-format on

// ---- records -----------------------------------------------------------------------------------------------------

// clang-format off
enum class RecordType : std::uint32_t {
  Mmap = 1, Lost = 2, Comm = 3, Exit = 4, Throttle = 5, Unthrottle = 6, Fork = 7, Read = 8, Sample = 9, Mmap2 = 10,
  Aux = 11, ItraceStart = 12, LostSamples = 13, Switch = 14, SwitchCpuWide = 15, Namespaces = 16, Ksymbol = 17,
  BpfEvent = 18, Cgroup = 19, TextPoke = 20, AuxOutputHwId = 21,
  HeaderAttr = 64, EventType = 65, TracingData = 66, BuildId = 67, FinishedRound = 68, IdIndex = 69,
  AuxtraceInfo = 70, Auxtrace = 71, AuxtraceError = 72, ThreadMap = 73, CpuMap = 74, StatConfig = 75, Stat = 76,
  StatRound = 77, EventUpdate = 78, TimeConv = 79, HeaderFeature = 80, Compressed = 81, FinishedInit = 82,
  Compressed2 = 83,  // Linux 6.15: the size of what is compressed is said, padding follows
};
// clang-format on
inline constexpr std::uint32_t kFirstUserRecord = 64;  // from here on no sample_id trailer
constexpr bool is_known_record(std::uint32_t type) {
  return (type >= static_cast<std::uint32_t>(RecordType::Mmap) &&
          type <= static_cast<std::uint32_t>(RecordType::AuxOutputHwId)) ||
         (type >= kFirstUserRecord && type <= static_cast<std::uint32_t>(RecordType::Compressed2));
}

struct RecordHeader {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::uint16_t size = 0;  // of the whole record, this header included
};
static_assert(WireLayout<RecordHeader> && sizeof(RecordHeader) == 8);
inline constexpr std::size_t kMaxRecordBytes = 65528;  // the largest multiple of 8 that `size` holds

namespace misc {
inline constexpr unsigned chain_end_shift = 9;  // of a SAMPLE: session::ChainEnd, in three bits that perf leaves 0
inline constexpr std::uint16_t cpumode_mask = 7, kernel = 1, user = 2, hypervisor = 3, guest_kernel = 4, guest_user = 5,
                               chain_end_mask = 7u << chain_end_shift, comm_exec = 1u << 13, mmap_data = 1u << 13,
                               exact_ip = 1u << 14, mmap_build_id = 1u << 14, build_id_size = 1u << 15;
}  // namespace misc

/// FORK and EXIT.
struct TaskBody {
  std::uint32_t pid = 0, ppid = 0, tid = 0, ptid = 0;
  std::uint64_t time = 0;
};
static_assert(WireLayout<TaskBody> && sizeof(TaskBody) == 24);

/// MMAP2 up to its file name; 24 bytes in the middle are one of two things.
struct Mmap2Place {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t address = 0, length = 0, page_offset = 0;
};
struct Mmap2Inode {
  std::uint32_t major = 0, minor = 0;
  std::uint64_t inode = 0, generation = 0;
};
struct Mmap2BuildId {  // misc::mmap_build_id
  std::uint8_t size = 0, zero[3] = {};
  std::uint8_t bytes[20] = {};
};
struct Mmap2Access {
  std::uint32_t protection = 0, flags = 0;
};
static_assert(WireLayout<Mmap2Place> && sizeof(Mmap2Place) == 32);
static_assert(sizeof(Mmap2Inode) == 24 && sizeof(Mmap2BuildId) == 24 && WireLayout<Mmap2Inode>);

/// One record of the BUILD_ID feature, up to its file name. The type field of the header is not read.
struct BuildIdBody {
  std::int32_t pid = -1;  // -1: the host
  std::uint8_t bytes[20] = {};
  std::uint8_t size = 0, zero[3] = {};
};
static_assert(WireLayout<BuildIdBody> && sizeof(BuildIdBody) == 28);

// ---- samples -----------------------------------------------------------------------------------------------------

/// Bits of sample_type. The fields stand in a SAMPLE in the order of the table in perf_data_reader.cc, not of the bits.
// clang-format off
namespace sample_field {
inline constexpr std::uint64_t ip               = bit( 0);
inline constexpr std::uint64_t tid              = bit( 1);
inline constexpr std::uint64_t time             = bit( 2);
inline constexpr std::uint64_t address          = bit( 3);
inline constexpr std::uint64_t read             = bit( 4);
inline constexpr std::uint64_t callchain        = bit( 5);
inline constexpr std::uint64_t id               = bit( 6);
inline constexpr std::uint64_t cpu              = bit( 7);
inline constexpr std::uint64_t period           = bit( 8);
inline constexpr std::uint64_t stream_id        = bit( 9);
inline constexpr std::uint64_t raw              = bit(10);
inline constexpr std::uint64_t branch_stack     = bit(11);
inline constexpr std::uint64_t regs_user        = bit(12);
inline constexpr std::uint64_t stack_user       = bit(13);
inline constexpr std::uint64_t weight           = bit(14);
inline constexpr std::uint64_t data_source      = bit(15);
inline constexpr std::uint64_t identifier       = bit(16);
inline constexpr std::uint64_t transaction      = bit(17);
inline constexpr std::uint64_t regs_intr        = bit(18);
inline constexpr std::uint64_t physical_address = bit(19);
inline constexpr std::uint64_t aux              = bit(20);
inline constexpr std::uint64_t cgroup           = bit(21);
inline constexpr std::uint64_t data_page_size   = bit(22);
inline constexpr std::uint64_t code_page_size   = bit(23);
inline constexpr std::uint64_t weight_struct    = bit(24);
inline constexpr std::string_view names[] = {
    "IP", "TID", "TIME", "ADDR", "READ", "CALLCHAIN", "ID", "CPU", "PERIOD", "STREAM_ID", "RAW", "BRANCH_STACK",
    "REGS_USER", "STACK_USER", "WEIGHT", "DATA_SRC", "IDENTIFIER", "TRANSACTION", "REGS_INTR", "PHYS_ADDR", "AUX",
    "CGROUP", "DATA_PAGE_SIZE", "CODE_PAGE_SIZE", "WEIGHT_STRUCT"};
inline constexpr std::uint64_t defined = (std::uint64_t{1} << 25) - 1;
}  // namespace sample_field
// clang-format on

/// sample_field::weight_struct. Instead of a u64 (sample_field::weight), whose low half is the first of these.
struct Weight {
  std::uint32_t access = 0;       // core cycles of the access
  std::uint16_t instruction = 0;  // of the instruction, where the processor tells both
  std::uint16_t retirement = 0;
};
static_assert(WireLayout<Weight> && sizeof(Weight) == 8);

/// Entries of a callchain that are no addresses: what follows is in this mode.
inline constexpr std::uint64_t kContextKernel = static_cast<std::uint64_t>(-128);
inline constexpr std::uint64_t kContextUser = static_cast<std::uint64_t>(-512);
inline constexpr std::uint64_t kContextMax = static_cast<std::uint64_t>(-4095);  // at or above: a marker

/// The flags word of a branch stack entry.
namespace branch_flag {
inline constexpr std::uint64_t mispredicted = 1u << 0, predicted = 1u << 1, in_transaction = 1u << 2, abort = 1u << 3;
inline constexpr unsigned cycles_shift = 4, type_shift = 20, speculation_shift = 24;
inline constexpr std::uint64_t cycles_mask = 0xFFFF, type_mask = 0xF, speculation_mask = 3;
}  // namespace branch_flag

/// Branch types as branch stack entries carry them (branch_filter::type_save).
// clang-format off
enum class BranchType : std::uint8_t {
  Unknown, Conditional, Unconditional, Indirect, Call, IndirectCall, Return, Syscall, SysReturn, ConditionalCall,
  ConditionalReturn, ExceptionReturn, Interrupt,
};
inline constexpr std::string_view kBranchTypeNames[] = {
    "N/A", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET",
    "IRQ", "SERROR", "NO_TX", "EXT"};
// clang-format on

struct BranchEntry {
  std::uint64_t from = 0, to = 0, flags = 0;
};
static_assert(WireLayout<BranchEntry> && sizeof(BranchEntry) == 24);

/// Registers, by bit number of sample_regs_intr and sample_regs_user, in the order they stand in a sample.
// clang-format off
enum class Register : std::uint8_t {
  Ax, Bx, Cx, Dx, Si, Di, Bp, Sp, Ip, Flags, Cs, Ss, Ds, Es, Fs, Gs, R8, R9, R10, R11, R12, R13, R14, R15,
};
// clang-format on
inline constexpr std::size_t kNamedRegisters = 24;
inline constexpr std::string_view kRegisterNames[kNamedRegisters] = {
    "AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",  "FLAGS", "CS",  "SS",
    "DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",   "R14", "R15"};
inline constexpr std::uint64_t kAllGeneralRegisters = 0xFF03FF;  // AX..SP, IP, FLAGS, R8..R15: what PEBS has
/// By Register; the others are not in a RegisterFile.
inline constexpr std::array<std::uint64_t arch::RegisterFile::*, kNamedRegisters> kRegisterMembers = [] {
  using File = arch::RegisterFile;
  std::array<std::uint64_t File::*, kNamedRegisters> members = {
      &File::ax, &File::bx, &File::cx, &File::dx, &File::si, &File::di, &File::bp, &File::sp, &File::ip, &File::flags};
  constexpr std::size_t kR8 = static_cast<std::size_t>(Register::R8);
  for (std::size_t i = kR8; i < kNamedRegisters; ++i) members[i] = arch::kGeneralRegisters[8 + i - kR8];
  return members;
}();
enum class RegisterAbi : std::uint64_t { None, Bits32, Bits64 };

// ---- features ----------------------------------------------------------------------------------------------------

// clang-format off
enum class Feature : std::uint32_t {
  TracingData = 1, BuildId, Hostname, OsRelease, Version, Arch, CpuCount, CpuDescription, CpuId, TotalMemory,
  CommandLine, EventDescription, CpuTopology, NumaTopology, BranchStack, PmuMappings, GroupDescription, Auxtrace, Stat,
  Cache, SampleTime, MemoryTopology, ClockId, DirFormat, BpfProgInfo, BpfBtf, Compressed, CpuPmuCaps, ClockData,
  HybridTopology, PmuCaps,
};
/// As perf lists them, by bit; a file without one is said to miss it.
inline constexpr std::string_view kFeatureNames[] = {
    "", "TRACING_DATA", "BUILD_ID", "HOSTNAME", "OSRELEASE", "VERSION", "ARCH", "NRCPUS", "CPUDESC", "CPUID",
    "TOTAL_MEM", "CMDLINE", "EVENT_DESC", "CPU_TOPOLOGY", "NUMA_TOPOLOGY", "BRANCH_STACK", "PMU_MAPPINGS",
    "GROUP_DESC", "AUXTRACE", "STAT", "CACHE", "SAMPLE_TIME", "MEM_TOPOLOGY", "CLOCKID", "DIR_FORMAT",
    "BPF_PROG_INFO", "BPF_BTF", "COMPRESSED", "CPU_PMU_CAPS", "CLOCK_DATA", "HYBRID_TOPOLOGY", "PMU_CAPS"};
// clang-format on
static_assert(static_cast<int>(Feature::SampleTime) == 21 && static_cast<int>(Feature::PmuCaps) == 31);
inline constexpr std::size_t kStringAlignment = 64;  // a feature's string: u32 length, then NUL-padded to this

// ---- what zeroskid adds ------------------------------------------------------------------------------------------

/// AUXTRACE_INFO of a branch trace. source: perf's intel_bts decoder: what it takes from the words, and that times are
/// told to be clock ticks by shift, multiplier and zero; here they are nanoseconds already.
struct BranchTraceInfo {
  std::uint32_t kind = kIntelBts, reserved = 0;
  std::uint64_t pmu_type = kBranchTraceType;
  std::uint64_t time_shift = 0, time_multiplier = 1, time_zero = 0, has_time_zero = 1;
  std::uint64_t snapshot = 0;

  static constexpr std::uint32_t kIntelBts = 2;
};
static_assert(WireLayout<BranchTraceInfo> && sizeof(BranchTraceInfo) == 56);

/// AUXTRACE: the bytes of the trace follow the record, and are not in its size.
struct AuxtraceBody {
  std::uint64_t bytes = 0, offset = 0;  // offset: of these in all bytes of their queue
  std::uint64_t reference = 0;          // when, in ticks
  std::uint32_t queue = 0, tid = 0, cpu = 0, reserved = 0;

  static constexpr std::uint32_t kNoCpu = 0xFFFF'FFFF;
};
static_assert(WireLayout<AuxtraceBody> && sizeof(AuxtraceBody) == 40);

/// AUX: that so much was traced, among the other records of its time.
struct AuxBody {
  std::uint64_t offset = 0, bytes = 0, flags = 0;

  static constexpr std::uint64_t kTruncated = 1;  // of flags: there was no room for all of it
};
static_assert(WireLayout<AuxBody> && sizeof(AuxBody) == 24);

/// A note: a key and a value, for people. It travels as record type 65 (EVENT_TYPE), obsolete, which perf
/// accepts for the sake of old files and ignores without a word. Its first word was an event id; here it is a magic.
struct NoteBody {
  std::uint64_t magic = kNoteMagic;
  std::uint32_t stage = 0;       // 0: known when the recording began; 1: when it ended
  std::uint32_t text_bytes = 0;  // of key, NUL, value; padding to 8 bytes follows

  static constexpr std::uint64_t kNoteMagic = 0x44494B534F52455A;  // "ZEROSKID"
  // Other values of `stage` are other things than notes, and text_bytes is 0.
  static constexpr std::uint32_t kHeapBlock = 2;        // HeapBlockBody, then the addresses of its site
  static constexpr std::uint32_t kBlocksOfSamples = 3;  // BlocksOfSamplesBody, then a number for each sample
  static constexpr std::uint32_t kSharing = 4;          // ProcessPartBody, then bytes
  static constexpr std::uint32_t kJitMap = 5;           // ProcessPartBody, then bytes
};
static_assert(WireLayout<NoteBody> && sizeof(NoteBody) == 16);

/// A block of a program's heap that some sample's address lies in. The n-th of a file is number n, from 1.
struct HeapBlockBody {
  std::uint64_t number = 0, start = 0, size = 0;  // number: in its process
  std::uint32_t pid = 0;
  std::uint32_t site = 0;  // how many addresses follow, of 8 bytes
};
static_assert(WireLayout<HeapBlockBody> && sizeof(HeapBlockBody) == 32);

/// Which blocks samples lie in: u32 number of each, 0 for none; an odd one is followed by a u32 0.
struct BlocksOfSamplesBody {
  std::uint64_t first = 0;  // the how-manieth SAMPLE record of the file the first number is of, from 0
  std::uint32_t count = 0, zero = 0;
};
static_assert(WireLayout<BlocksOfSamplesBody> && sizeof(BlocksOfSamplesBody) == 16);

/// A part of what is known of a process: the lines that its threads fought over (session/recording/process_sharing.h),
/// or the names of its just-in-time compiler's code, the text of /tmp/perf-PID.map. Parts come in their order.
struct ProcessPartBody {
  std::uint32_t pid = 0;
  std::uint32_t part = 0, parts = 0;  // this one's number, from 0; how many
  std::uint32_t bytes = 0;            // that follow, and zeros up to a multiple of 8
};
static_assert(WireLayout<ProcessPartBody> && sizeof(ProcessPartBody) == 16);

}  // namespace zs::profile::perf
