// zs-oracle: counts what a program retires, and records its state after every instruction, by PTRACE_SINGLESTEP.
// Slow (about 10^5 instructions a second) and simple: what the translator, the PMU and the samples are held to.
// Consecutive steps on one REP string instruction are one instruction; if a signal handler interrupts it, what was
// done before belongs to no retired instruction. The system call that ends the program counts: it has retired.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meaning.h"
#include "stream_format.h"
#include "trace_format.h"
#include "tracee.h"

namespace zs::oracle {
namespace {

using arch::BranchKind;
using arch::FpArith;

constexpr int kOwnFailure = 125;
constexpr int kUsage = 129;

constexpr const char* kHelp =
    "usage: zs-oracle [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "Single-steps PROGRAM and counts what it retires, as `name count` lines.\n"
    "  -o FILE          write the counts to FILE (default: standard error)\n"
    "  --trace FILE     write one record per instruction: registers, addresses, facts\n"
    "  --accesses FILE  write what every instruction did to memory, as tests/core_feed/stream_format.h says\n"
    "  --runner WORDS   start `WORDS PROGRAM ARGUMENTS` (words split at blanks), which loads PROGRAM at the\n"
    "                   addresses of a translated run and reports its entry by INT3 with rax = 5A45524F534B4944H\n"
    "  --max-steps N    give up after N instructions (default 50000000)\n"
    "  --aslr           leave address-space randomisation on\n"
    "  --hardware-steps use the trap flag for every step (slower, same result)\n"
    "exit status: 0 the program was followed to its end, 125 it was not, 129 usage\n";

struct Options {
  Launch launch;
  std::string counts_file;
  std::string trace_file;
  std::string accesses_file;
  std::uint64_t max_steps = 50'000'000;
};

struct Counts {
  std::uint64_t instructions = 0, nops = 0;
  std::uint64_t branches = 0, conditional = 0, conditional_taken = 0, near_taken = 0;
  std::uint64_t calls = 0, returns = 0, indirect = 0, far = 0;
  // Instructions that have any, as the default CPU model's events count them; software prefetches are loads there.
  std::uint64_t loads = 0, stores = 0, memory = 0, locked = 0, split_loads = 0, split_stores = 0;
  std::array<std::uint64_t, 9> fp{};  // by arch::FpArith

  void add(const TraceRecord& record, const arch::InsnFacts& facts) {
    const bool taken = (record.facts & trace_bit::kTaken) != 0;
    ++instructions;
    nops += facts.nop;
    const bool is_load = is_load_or_prefetch(facts), is_store = facts.stores != 0;
    loads += is_load;
    stores += is_store;
    memory += is_load || is_store;
    split_loads += record.split_loads != 0;
    split_stores += record.split_stores != 0;
    locked += facts.locked;
    fp[static_cast<std::size_t>(facts.fp)] += facts.fp_weight;
    if (facts.branch == BranchKind::None) return;
    ++branches;
    near_taken += taken && facts.branch != BranchKind::Far;
    switch (facts.branch) {
      case BranchKind::Conditional: ++conditional, conditional_taken += taken; break;
      case BranchKind::RelativeCall: ++calls; break;
      case BranchKind::IndirectCall: ++calls, ++indirect; break;
      case BranchKind::IndirectJump: ++indirect; break;
      case BranchKind::Return: ++returns; break;
      case BranchKind::Far: ++far; break;
      case BranchKind::RelativeJump:
      case BranchKind::None: break;
    }
  }

  void print(std::FILE* out) const {
    const auto fp_of = [&](FpArith kind) { return fp[static_cast<std::size_t>(kind)]; };
    const std::pair<const char*, std::uint64_t> rows[] = {
        {"inst_retired.any", instructions},
        {"inst_retired.nop", nops},
        {"br_inst_retired.all_branches", branches},
        {"br_inst_retired.conditional", conditional},
        {"br_inst_retired.not_taken", conditional - conditional_taken},
        {"br_inst_retired.near_taken", near_taken},
        {"br_inst_retired.near_call", calls},
        {"br_inst_retired.near_return", returns},
        {"br_inst_retired.far_branch", far},
        {"mem_inst_retired.all_loads", loads},
        {"mem_inst_retired.all_stores", stores},
        {"mem_inst_retired.any", memory},
        {"mem_inst_retired.lock_loads", locked},
        {"mem_inst_retired.split_loads", split_loads},
        {"mem_inst_retired.split_stores", split_stores},
        {"fp_arith_inst_retired.scalar_double", fp_of(FpArith::ScalarDouble)},
        {"fp_arith_inst_retired.scalar_single", fp_of(FpArith::ScalarSingle)},
        {"fp_arith_inst_retired.128b_packed_double", fp_of(FpArith::Packed128Double)},
        {"fp_arith_inst_retired.128b_packed_single", fp_of(FpArith::Packed128Single)},
        {"fp_arith_inst_retired.256b_packed_double", fp_of(FpArith::Packed256Double)},
        {"fp_arith_inst_retired.256b_packed_single", fp_of(FpArith::Packed256Single)},
        {"fp_arith_inst_retired.512b_packed_double", fp_of(FpArith::Packed512Double)},
        {"fp_arith_inst_retired.512b_packed_single", fp_of(FpArith::Packed512Single)},
        {"indirect_jumps_and_calls", indirect},
        {"conditional_taken", conditional_taken},
    };
    for (const auto& [name, count] : rows) std::fprintf(out, "%s %llu\n", name, static_cast<unsigned long long>(count));
  }
};

/// Decoded instructions by address, each with its bytes: code that changed is decoded again.
class DecodeCache {
 public:
  const Meaning* at(std::uint64_t ip, std::span<const std::byte> code) {
    Entry& entry = entries_[ip];
    const std::size_t length = entry.meaning ? entry.meaning->length : 0;
    if (length == 0 || code.size() < length || std::memcmp(entry.code.data(), code.data(), length) != 0) {
      entry.meaning = decoder_.decode(code);
      std::memcpy(entry.code.data(), code.data(), code.size());
    }
    return entry.meaning ? &*entry.meaning : nullptr;
  }

 private:
  struct Entry {
    std::array<std::byte, 15> code{};
    std::optional<Meaning> meaning;
  };
  Decoder decoder_;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

arch::RegisterFile register_file(const Registers& r) {
  constexpr std::uint64_t hidden = (1U << 8) | (1U << 16);  // TF is the oracle's, RF the kernel's
  return {.flags = r.eflags & ~hidden,
          .ip = r.rip,
          .ax = r.rax,
          .bx = r.rbx,
          .cx = r.rcx,
          .dx = r.rdx,
          .si = r.rsi,
          .di = r.rdi,
          .bp = r.rbp,
          .sp = r.rsp,
          .r8 = r.r8,
          .r9 = r.r9,
          .r10 = r.r10,
          .r11 = r.r11,
          .r12 = r.r12,
          .r13 = r.r13,
          .r14 = r.r14,
          .r15 = r.r15};
}

std::uint32_t fact_bits(const arch::InsnFacts& facts) {
  namespace bit = trace_bit;
  return static_cast<std::uint32_t>(facts.branch) << bit::kBranchKindShift |
         static_cast<std::uint32_t>(facts.fp) << bit::kFpClassShift |
         static_cast<std::uint32_t>(facts.fp_weight) << bit::kFpWeightShift | (facts.nop ? bit::kNop : 0) |
         (facts.locked ? bit::kLocked : 0) | (facts.rep_string ? bit::kRepString : 0) |
         (is_load_or_prefetch(facts) ? bit::kLoads : 0) | (facts.stores != 0 ? bit::kStores : 0);
}

/// The accesses of one step, added to the instruction they belong to. A REP string instruction touches each operand
/// `elements` times, upwards or, with DF set, downwards.
void add_accesses(TraceRecord& record, const Meaning& meaning, const Registers& before, std::uint32_t elements) {
  const bool downwards = (before.eflags & (1U << 10)) != 0;
  for (std::size_t i = 0; i < meaning.operands; ++i) {
    const MemoryOperand& operand = meaning.operand[i];
    const auto address = address_of(meaning, operand, before);
    const std::uint64_t stride = downwards ? -std::uint64_t{operand.bytes} : operand.bytes;
    std::uint32_t splits = 0;
    for (std::uint32_t n = 0; address && n < elements; ++n) splits += is_split(*address + n * stride, operand.bytes);
    if (operand.load) {
      if (record.loads == 0) record.load_address = address.value_or(0);
      record.loads += elements;
      record.split_loads += splits;
    }
    if (operand.store) {
      if (record.stores == 0) record.store_address = address.value_or(0);
      record.stores += elements;
      record.split_stores += splits;
    }
  }
}

/// The same one by one: loads, then stores; what is wider than a line in pieces of a line.
/// state  the XSAVE area before, of a gather or scatter
void list_accesses(std::vector<StreamAccess>& list, const Meaning& meaning, const Registers& before,
                   std::span<const std::byte> state, std::uint32_t elements) {
  constexpr std::uint32_t kLine = 64;
  using arch::AccessKind;
  const bool downwards = (before.eflags & (1U << 10)) != 0;
  for (std::uint32_t element = 0; element < elements; ++element) {
    for (const bool stores : {false, true}) {
      for (std::size_t i = 0; i < meaning.operands; ++i) {
        const MemoryOperand& operand = meaning.operand[i];
        if (operand.place == MemoryOperand::Place::PerElement) {
          if (!(stores ? operand.store : operand.load)) continue;
          for (const std::uint64_t address : element_addresses(meaning.elements, operand, before, state)) {
            StreamAccess access;
            access.address = address;
            access.bytes = meaning.elements.element_bytes;
            access.kind = static_cast<std::uint8_t>(stores ? AccessKind::Store : AccessKind::Load);
            list.push_back(access);
          }
          continue;
        }
        const auto address = address_of(meaning, operand, before);
        if (!address || !(stores ? operand.store : operand.load)) continue;
        const std::uint64_t stride = downwards ? -std::uint64_t{operand.bytes} : operand.bytes;
        const AccessKind kind = stores ? (meaning.streams ? AccessKind::StreamingStore : AccessKind::Store)
                                       : (meaning.facts.locked ? AccessKind::LockedLoad : AccessKind::Load);
        for (std::uint32_t at = 0; at < operand.bytes; at += kLine) {
          StreamAccess access;
          access.address = *address + element * stride + at;
          access.bytes = static_cast<std::uint16_t>(std::min(operand.bytes - at, kLine));
          access.kind = static_cast<std::uint8_t>(kind);
          list.push_back(access);
        }
      }
    }
  }
  if (meaning.line) {
    StreamAccess access;
    access.address = address_of(meaning, *meaning.line, before).value_or(0);
    access.bytes = 1;
    access.kind = static_cast<std::uint8_t>(meaning.line_kind);
    list.push_back(access);
  }
}

class Run {
 public:
  Run(Tracee tracee, std::FILE* trace, std::FILE* accesses, std::uint64_t max_steps)
      : tracee_(std::move(tracee)), trace_(trace), accesses_file_(accesses), max_steps_(max_steps) {}

  Result<void> to_the_end() {
    std::array<std::byte, 15> code{};
    for (;;) {
      const Registers before = tracee_.registers();
      const std::size_t readable = tracee_.read_code(code);
      const Meaning* next = cache_.at(before.rip, {code.data(), readable});
      if (next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_MOV && loads_stack_segment(code)) {
        return Error{"the program loads SS, which delays the step trap", "no other program does; leave it out"};
      }
      if (accesses_file_ != nullptr && next != nullptr && next->elements.count != 0) state_ = tracee_.extended_state();
      auto outcome = tracee_.step(next);
      if (!outcome) return outcome.error();
      switch (*outcome) {
        case Tracee::Outcome::HandlerEntered: is_open_ = false; continue;
        case Tracee::Outcome::Ended:
          if (next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_SYSCALL) retire_last_call(*next, before);
          return {};
        case Tracee::Outcome::Executed: break;
      }
      if (next == nullptr) return Error{"the processor executed bytes that Zydis cannot decode", ""};
      if (auto checked = retire(*next, before); !checked) return checked;
      if (counts_.instructions > max_steps_) {
        return Error{"more than " + std::to_string(max_steps_) + " instructions", "raise --max-steps"};
      }
    }
  }

  const Counts& counts() const { return counts_; }
  const Tracee& tracee() const { return tracee_; }

 private:
  static bool loads_stack_segment(std::span<const std::byte> code) {
    const std::size_t at = code[0] == std::byte{0x66} ? 1 : 0;
    return code[at] == std::byte{0x8E} && (code[at + 1] & std::byte{0x38}) == std::byte{0x10};
  }

  Result<void> retire(const Meaning& meaning, const Registers& before) {
    const Registers& after = tracee_.registers();
    if (!is_open_) {
      open_ = {};
      accesses_.clear();
    }
    open_.ip = before.rip;
    std::uint32_t elements = 1;
    if (meaning.facts.rep_string) elements = static_cast<std::uint32_t>(before.rcx - after.rcx);
    add_accesses(open_, meaning, before, elements);
    if (accesses_file_ != nullptr) list_accesses(accesses_, meaning, before, state_, elements);
    is_open_ = meaning.facts.rep_string && after.rip == before.rip;
    if (is_open_) return {};

    const std::uint64_t fall_through = before.rip + meaning.length;
    bool taken = meaning.facts.branch != BranchKind::None;
    if (meaning.facts.branch == BranchKind::Conditional) {
      taken = condition_holds(meaning, before);
      if (taken ? false : after.rip != fall_through) return Error{"a branch judged not taken left its path", ""};
    } else if (!taken && after.rip != fall_through && meaning.mnemonic != ZYDIS_MNEMONIC_XBEGIN) {
      return Error{"an instruction that is no branch moved the instruction pointer", ""};
    }
    open_.after = register_file(after);
    open_.facts = fact_bits(meaning.facts) | (taken ? trace_bit::kTaken : 0);
    open_.bytes = meaning.length;
    write(meaning);
    return {};
  }

  void retire_last_call(const Meaning& meaning, const Registers& before) {
    Registers after = before;
    after.rip = after.rcx = before.rip + meaning.length;
    after.r11 = before.eflags;
    open_ = {};
    accesses_.clear();
    open_.ip = before.rip;
    open_.after = register_file(after);
    open_.facts = fact_bits(meaning.facts) | trace_bit::kTaken | trace_bit::kNeverReturned;
    open_.bytes = meaning.length;
    write(meaning);
  }

  void write(const Meaning& meaning) {
    counts_.add(open_, meaning.facts);
    if (trace_ != nullptr) std::fwrite(&open_, sizeof open_, 1, trace_);
    if (accesses_file_ != nullptr) {
      StreamInstruction head;
      head.pc = open_.ip;
      head.length = meaning.length;
      head.taken = (open_.facts & trace_bit::kTaken) != 0;
      head.accesses = static_cast<std::uint32_t>(accesses_.size());
      std::fwrite(&head, sizeof head, 1, accesses_file_);
      std::fwrite(accesses_.data(), sizeof(StreamAccess), accesses_.size(), accesses_file_);
    }
    open_ = {};
  }

  Tracee tracee_;
  std::FILE* trace_;
  std::FILE* accesses_file_;
  std::uint64_t max_steps_;
  DecodeCache cache_;
  Counts counts_;
  std::vector<std::byte> state_;        // before a gather or scatter
  std::vector<StreamAccess> accesses_;  // of the instruction being stepped
  TraceRecord open_;                    // the instruction being stepped; more than one step only for REP
  bool is_open_ = false;
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  int i = 1;
  const auto value = [&](std::string_view name) -> Result<std::string> {
    if (i + 1 >= argc) return Error{std::string(name) + " needs a value", ""};
    return std::string(argv[++i]);
  };
  for (; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (!word.starts_with('-')) break;
    if (word == "--aslr") {
      options.launch.randomize_addresses = true;
      continue;
    }
    if (word == "--hardware-steps") {
      options.launch.hardware_steps = true;
      continue;
    }
    if (word != "-o" && word != "--trace" && word != "--runner" && word != "--max-steps" && word != "--accesses") {
      return Error{"unknown option " + std::string(word), "zs-oracle --help lists them"};
    }
    auto text = value(word);
    if (!text) return text.error();
    if (word == "-o") options.counts_file = *text;
    if (word == "--trace") options.trace_file = *text;
    if (word == "--accesses") options.accesses_file = *text;
    if (word == "--runner") {
      std::istringstream words(*text);
      for (std::string part; words >> part;) options.launch.runner.push_back(part);
    }
    if (word == "--max-steps") {
      const auto parsed = std::from_chars(text->data(), text->data() + text->size(), options.max_steps);
      if (parsed.ec != std::errc{} || *parsed.ptr != '\0')
        return Error{"--max-steps needs a number, found " + *text, ""};
    }
  }
  for (; i < argc; ++i) options.launch.command.emplace_back(argv[i]);
  if (options.launch.command.empty()) return Error{"no program named", "zs-oracle --help shows the form"};
  return options;
}

int fail(const std::string& name, const Error& error, int status) {
  std::fprintf(stderr, "zs-oracle: %s%s%s\n", name.c_str(), name.empty() ? "" : ": ", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return status;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

int run(const Options& options) {
  const std::string& name = options.launch.command[0];
  File trace;
  if (!options.trace_file.empty()) {
    trace.reset(std::fopen(options.trace_file.c_str(), "we"));
    if (!trace) return fail(options.trace_file, Error{std::strerror(errno), ""}, kOwnFailure);
    std::setvbuf(trace.get(), nullptr, _IOFBF, 1 << 20);
    TraceHeader header;
    header.record_bytes = sizeof(TraceRecord);
    std::fwrite(&header, sizeof header, 1, trace.get());
  }
  File accesses;
  if (!options.accesses_file.empty()) {
    accesses.reset(std::fopen(options.accesses_file.c_str(), "we"));
    if (!accesses) return fail(options.accesses_file, Error{std::strerror(errno), ""}, kOwnFailure);
    std::setvbuf(accesses.get(), nullptr, _IOFBF, 1 << 20);
  }
  auto tracee = Tracee::start(options.launch);
  if (!tracee) return fail(name, tracee.error(), kOwnFailure);

  Run steps(std::move(tracee).value(), trace.get(), accesses.get(), options.max_steps);
  if (auto result = steps.to_the_end(); !result) {
    char where[80];
    std::snprintf(where, sizeof where, " (after %llu instructions, at 0x%llx)",
                  static_cast<unsigned long long>(steps.counts().instructions), steps.tracee().registers().rip);
    return fail(name, Error{result.error().message + where, result.error().hint}, kOwnFailure);
  }
  if (trace && std::fflush(trace.get()) != 0)
    return fail(options.trace_file, Error{std::strerror(errno), ""}, kOwnFailure);

  File counts_file;
  if (!options.counts_file.empty()) {
    counts_file.reset(std::fopen(options.counts_file.c_str(), "we"));
    if (!counts_file) return fail(options.counts_file, Error{std::strerror(errno), ""}, kOwnFailure);
  }
  std::FILE* out = counts_file ? counts_file.get() : stderr;
  steps.counts().print(out);
  std::fprintf(out, "process_id %d\n", steps.tracee().process_id());
  const int status = steps.tracee().status();
  if (WIFEXITED(status))
    std::fprintf(out, "exit_status %d\n", WEXITSTATUS(status));
  else
    std::fprintf(out, "exit_signal %d\n", WTERMSIG(status));
  if (steps.tracee().restarted_calls() > 0) {
    std::fprintf(out, "restarted_system_calls %llu\n",
                 static_cast<unsigned long long>(steps.tracee().restarted_calls()));
  }
  return 0;
}

}  // namespace
}  // namespace zs::oracle

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(zs::oracle::kHelp, stdout) < 0 ? 1 : 0;
  auto options = zs::oracle::parse(argc, argv);
  if (!options) return zs::oracle::fail("", options.error(), zs::oracle::kUsage);
  return zs::oracle::run(*options);
}
