// The code of blocks, as text: the program's instructions, then what is emitted for them. So what a change of the
// emitter costs is read in its diff.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/translate/emitted_cases.h"
#include "engine/translate/reserved_addresses.h"
#include "engine/translate/translator.h"

namespace zs::engine {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + 2 <= hex.size(); at += 3)
    bytes.push_back(static_cast<std::uint8_t>(std::strtoul(std::string(hex.substr(at, 2)).c_str(), nullptr, 16)));
  return bytes;
}

/// The bytes of a case, at an address where nothing need be.
class CaseSource final : public CodeSource {
 public:
  explicit CaseSource(const EmittedCase& of)
      : pc((of.setup & kFar) != 0 ? 0x7A00'0000'0000 : DirectTable::kFirst + 0x1000),
        bytes(bytes_of(of.guest)),
        setup_(of.setup) {}

  std::span<const std::uint8_t> fetch(std::uint64_t at) override {
    if (at < pc || at >= pc + bytes.size()) return {};
    return std::span(bytes).subspan(at - pc).first(std::min<std::size_t>(15, pc + bytes.size() - at));
  }
  bool may_change_unseen(std::uint64_t /*at*/) override { return (setup_ & kUnseen) != 0; }
  Probe probe(const Insn& insn) override {
    return {.time = (setup_ & kProbed) != 0 && insn.pc == pc ? ProbeTime::Before : ProbeTime::None};
  }
  void translated(std::uint64_t /*page*/) override {}

  const std::uint64_t pc;
  const std::vector<std::uint8_t> bytes;

 private:
  unsigned setup_;
};

/// One instruction that was emitted, and where.
struct Emitted {
  std::uint64_t at;
  std::size_t length;
  bool writes_flags;
};

/// Names for what code refers to: what is the engine's, by what it is; the program's code, by how far behind its
/// beginning it lies; the block's own, by labels in the order of its lines.
class Names {
 public:
  Names(const CodeCache& cache, const Stubs& stubs, std::uint64_t guest, std::uint64_t entry)
      : cache_(cache), guest_(guest) {
    const std::pair<std::size_t, const char*> fields[] = {{offsetof(Context, slot_rcx), "slot_rcx"},
                                                          {offsetof(Context, slot_rax), "slot_rax"},
                                                          {offsetof(Context, slot_map), "slot_map"},
                                                          {offsetof(Context, slot_far), "slot_far"},
                                                          {offsetof(Context, exit_id), "exit_id"},
                                                          {offsetof(Context, slot_scratch), "slot_scratch"},
                                                          {offsetof(Context, probe_note), "probe_note"},
                                                          {offsetof(Context, watch_mask), "watch_mask"},
                                                          {offsetof(Context, watch_rcx), "watch_rcx"},
                                                          {offsetof(Context, watch_rax), "watch_rax"},
                                                          {offsetof(Context, near_table), "near_table"},
                                                          {offsetof(Context, gpr) + 8 * kR11, "slot_r11"},
                                                          {offsetof(Context, elements) + 8 * kRepMoves, "elements"}};
    for (const auto& [offset, name] : fields) names_[cache.context_address() + offset] = name;
    const std::pair<std::uint64_t, const char*> stub_names[] = {
        {stubs.unlinked, "unlinked"},       {stubs.step_done, "step_done"},     {stubs.indirect_miss, "indirect_miss"},
        {stubs.choose_stop, "choose_stop"}, {stubs.hashed_miss, "hashed_miss"}, {stubs.at_stop, "at_stop"}};
    for (const auto& [address, name] : stub_names) names_[address] = name;
    labels_[entry] = "entry";
  }

  void add(std::uint64_t address, const char* name) { names_[address] = name; }
  void refer_to(std::uint64_t address) { referred_.insert(address); }
  void number_labels(std::span<const Emitted> lines) {
    int number = 0;
    for (const Emitted& line : lines) {
      if (referred_.contains(line.at) && !labels_.contains(line.at)) labels_[line.at] = "L" + std::to_string(++number);
    }
  }
  std::optional<std::string> label(std::uint64_t address) const {
    const auto found = labels_.find(address);
    return found == labels_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::string> address(std::uint64_t address) const {
    if (auto known = label(address)) return known;
    if (const auto found = names_.find(address); found != names_.end()) return found->second;
    if (auto known = guest(address)) return known;
    if (cache_.direct_table().is_mapped() && address % 8 == 0) {
      if (auto of = guest((address - cache_.direct_table().bias()) / 8)) return "direct_table of " + *of;
    }
    return std::nullopt;
  }
  /// Of what an operand adds to registers.
  std::optional<std::string> displacement(std::uint64_t value) const {
    if (value == 0) return std::nullopt;
    if (value - cache_.trace().slots_bias() < 8 * std::uint64_t{AddressSlots::kMost + 2})
      return "slots[" + std::to_string((value - cache_.trace().slots_bias()) / 8) + "]";
    if (value == cache_.trace().pointer_bias()) return "bias";
    if (value == cache_.layout().hashed_tables) return "hashed_table";
    if (value == cache_.layout().hashed_tables + HashedTables::kTableBytes) return "hashed_table_of_near";
    if (cache_.direct_table().is_mapped() && value == cache_.direct_table().bias()) return "direct_table";
    if (auto negative = guest(0 - value)) return "-(" + *negative + ")";
    return guest(value);
  }
  std::optional<std::string> immediate(std::uint64_t value) const {
    if (cache_.trace().end() - value < 4096) return "guard-" + std::to_string(cache_.trace().end() - value);
    if (const auto found = names_.find(value); found != names_.end()) return found->second;
    return guest(value);
  }

 private:
  std::optional<std::string> guest(std::uint64_t address) const {
    if (address - guest_ >= 4096) return std::nullopt;
    return address == guest_ ? "guest" : "guest+" + std::to_string(address - guest_);
  }

  const CodeCache& cache_;
  std::uint64_t guest_;
  std::map<std::uint64_t, std::string> names_, labels_;
  std::set<std::uint64_t> referred_;
};

/// Zydis, with names for addresses.
class Disassembler {
 public:
  explicit Disassembler(const Names& names) : names_(names) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_DISP_PADDING, 1);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, 1);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_IMM_PADDING, 1);
    replaced_.address = hook(ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS, &print_address);
    replaced_.displacement = hook(ZYDIS_FORMATTER_FUNC_PRINT_DISP, &print_displacement);
    replaced_.immediate = hook(ZYDIS_FORMATTER_FUNC_PRINT_IMM, &print_immediate);
  }

  struct Line {
    ZydisDecodedInstruction insn{};
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
    std::string text;
    std::optional<std::uint64_t> refers_to;  // the address of an operand relative to the instruction
  };
  /// Of the `size` bytes at `code`, which run at `pc`; an instruction of no bytes where they are none.
  Line line(const void* code, std::size_t size, std::uint64_t pc) const {
    Line line;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code, size, &line.insn, line.operands.data()))) {
      line.text = "(no instruction)";
      return line;
    }
    std::array<char, 256> text{};
    EXPECT_TRUE(ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter_, &line.insn, line.operands.data(),
                                                             line.insn.operand_count_visible, text.data(), text.size(),
                                                             pc, const_cast<Disassembler*>(this))));
    line.text = text.data();
    for (const ZydisDecodedOperand& operand : std::span(line.operands).first(line.insn.operand_count_visible)) {
      std::uint64_t address = 0;
      const bool relative = operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? operand.imm.is_relative != 0
                                                                         : operand.mem.base == ZYDIS_REGISTER_RIP;
      if (relative && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&line.insn, &operand, pc, &address)))
        line.refers_to = address;
    }
    return line;
  }

 private:
  struct Functions {
    ZydisFormatterFunc address = nullptr, displacement = nullptr, immediate = nullptr;
  };

  ZydisFormatterFunc hook(ZydisFormatterFunction type, ZydisFormatterFunc function) {
    const void* callback = reinterpret_cast<const void*>(function);
    EXPECT_TRUE(ZYAN_SUCCESS(ZydisFormatterSetHook(&formatter_, type, &callback)));
    return reinterpret_cast<ZydisFormatterFunc>(const_cast<void*>(callback));
  }
  static const Disassembler& self(const ZydisFormatterContext* context) {
    return *static_cast<const Disassembler*>(context->user_data);
  }
  static ZyanStatus append(ZydisFormatterBuffer* buffer, const std::string& text) {
    ZyanString* string = nullptr;
    ZYAN_CHECK(ZydisFormatterBufferAppend(buffer, ZYDIS_TOKEN_SYMBOL));
    ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &string));
    ZyanStringView view;
    ZYAN_CHECK(ZyanStringViewInsideBufferEx(&view, text.data(), text.size()));
    return ZyanStringAppend(string, &view);
  }
  static ZyanStatus print_address(const ZydisFormatter* formatter, ZydisFormatterBuffer* buffer,
                                  ZydisFormatterContext* context) {
    ZyanU64 address = 0;
    ZYAN_CHECK(ZydisCalcAbsoluteAddress(context->instruction, context->operand, context->runtime_address, &address));
    const auto name = self(context).names_.address(address);
    return name ? append(buffer, *name) : self(context).replaced_.address(formatter, buffer, context);
  }
  static ZyanStatus print_displacement(const ZydisFormatter* formatter, ZydisFormatterBuffer* buffer,
                                       ZydisFormatterContext* context) {
    const auto name = self(context).names_.displacement(static_cast<std::uint64_t>(context->operand->mem.disp.value));
    return name ? append(buffer, (name->front() == '-' ? "" : "+") + *name)
                : self(context).replaced_.displacement(formatter, buffer, context);
  }
  static ZyanStatus print_immediate(const ZydisFormatter* formatter, ZydisFormatterBuffer* buffer,
                                    ZydisFormatterContext* context) {
    const auto name = self(context).names_.immediate(context->operand->imm.value.u);
    return name ? append(buffer, *name) : self(context).replaced_.immediate(formatter, buffer, context);
  }

  const Names& names_;
  ZydisDecoder decoder_{};
  ZydisFormatter formatter_{};
  Functions replaced_;
};

bool writes_flags(const ZydisDecodedInstruction& insn) {
  const ZydisAccessedFlags* const flags = insn.cpu_flags;
  return flags != nullptr && (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) != 0;
}

bool accesses_memory(const Insn& insn) {
  return insn.memory_count != 0 || insn.flow == Flow::Call || insn.flow == Flow::IndirectCall ||
         insn.flow == Flow::Return;
}

constexpr bool without_direct_table() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

/// Translates a case, in a code cache where the engine has it.
class EmittedCode : public testing::TestWithParam<EmittedCase> {
 protected:
  EmittedCode() = default;
  ~EmittedCode() override {
    if (cache_) cache_->direct_table().unmap();
  }
  EmittedCode(const EmittedCode&) = delete;
  EmittedCode& operator=(const EmittedCode&) = delete;

  bool has(unsigned setup) const { return (GetParam().setup & setup) != 0; }

  void translate() {
    cache_ = std::make_unique<CodeCache>(ReservedAddresses::kBase, ReservedAddresses::kCodeBytes, untouched_);
    if (has(kDirect)) {
      cache_->direct_table().map({}, ReservedAddresses::kBase);
      ASSERT_TRUE(cache_->direct_table().is_mapped());
    }
    TranslationOptions options;
    options.max_instructions = GetParam().most;
    options.form = GetParam().form;
    options.brakes = has(kBrakes);
    options.addresses = has(kAddresses);
    options.count_elements = has(kElements);
    constexpr std::uint64_t kWatchedBytes = 8;
    for (std::uint64_t at = 0; at < kWatchedBytes; ++at) watched_.insert(source_.pc + at);
    if (has(kWatched)) options.watched = &watched_;
    options.risks = static_cast<std::uint8_t>(has(kRisky) ? kRiskAny : 0);
    if (options.has_near()) cache_->trace().bias_pointer();
    stubs_ = generate_stubs(*cache_, [](Context* /*context*/) { return std::uint64_t{0}; });
    const std::vector<std::uint32_t> units{options.form == TraceForm::Spaced ? 1u : 0u};
    translator_ = std::make_unique<Translator>(*cache_, stubs_, source_, accumulators_, units, options);
    block_ = translator_->get(source_.pc, GetParam().variant);
    names_ = std::make_unique<Names>(*cache_, stubs_, source_.pc, block_.entry);
    list_all();
    names_->number_labels(lines_);
  }

  /// The code of the block: with what lies before its entry and falls into it, without the data behind.
  void list_all() {
    std::uint64_t end = block_.entry + block_.code_bytes;
    if (block_.variant == Variant::Near) {
      end -= sizeof(NearTable) + sizeof(std::uint32_t) * block_.instructions;
      names_->add(end, "table_of_block");
      while (*reinterpret_cast<const std::uint8_t*>(end - 1) == 0xCC) --end;
    }
    list(block_.direct_entry != 0 ? block_.direct_entry : block_.entry, end);
    hot_ = lines_.size();
    // The side exits of the next block begin where those of this one end.
    if (block_.variant == Variant::Full)
      list(block_.cold_entry, translator_->get(source_.pc, Variant::Step).cold_entry);
  }
  void list(std::uint64_t begin, std::uint64_t end) {
    const Disassembler disassembler(*names_);
    for (std::uint64_t at = begin; at < end;) {
      const auto line = disassembler.line(reinterpret_cast<const void*>(at), end - at, at);
      ASSERT_NE(line.insn.length, 0) << std::hex << at;
      // Behind the code lies a literal, if one is pushed.
      if (line.insn.mnemonic == ZYDIS_MNEMONIC_PUSH && line.refers_to) {
        end = std::min(end, *line.refers_to);
        names_->add(*line.refers_to, "literal");
      }
      lines_.push_back({.at = at, .length = line.insn.length, .writes_flags = writes_flags(line.insn)});
      if (line.refers_to) names_->refer_to(*line.refers_to);
      at += line.insn.length;
    }
  }

  std::string text() const {
    const Disassembler disassembler(*names_);
    std::string text = "\n";
    for (std::size_t at = 0; at < source_.bytes.size();) {
      const auto line = disassembler.line(&source_.bytes[at], source_.bytes.size() - at, source_.pc + at);
      text += "; " + line.text + "\n";
      at += std::max<std::size_t>(line.insn.length, 1);
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Emitted& line = lines_[i];
      if (i == hot_) text += "cold:\n";
      if (const auto label = names_->label(line.at)) text += *label + ":\n";
      text += "  " + disassembler.line(reinterpret_cast<const void*>(line.at), line.length, line.at).text + "\n";
    }
    for (std::uint32_t id = block_.first_exit; id < block_.first_exit + block_.exits; ++id) text += exit_text(id);
    return text;
  }
  std::string exit_text(std::uint32_t id) const {
    static constexpr const char* kKinds[] = {"Direct",      "Indirect",   "Syscall",   "Interrupt",
                                             "Emulated",    "Breakpoint", "Refused",   "Undecodable",
                                             "Unfetchable", "Stale",      "NeedsStep", "Horizon"};
    const Exit& exit = translator_->blocks().exit(id);
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "exit 0x%X: %s %s, %u retired\n", id,
                  kKinds[static_cast<std::size_t>(exit.kind)],
                  exit.target == 0 ? "by rcx" : names_->address(exit.target).value_or("elsewhere").c_str(),
                  unsigned{exit.instructions});
    return text.data();
  }

  const ReservedAddresses reserved_;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  CaseSource source_{GetParam()};
  WatchedInsns watched_;
  const AccumulatorSet accumulators_{
      std::vector<arch::EventMeaning>{{.count = [](const arch::Retired& /*insn*/) { return 1u; }}}};  // instructions
  std::unique_ptr<CodeCache> cache_;
  Stubs stubs_;
  std::unique_ptr<Translator> translator_;
  Block block_;
  std::unique_ptr<Names> names_;
  std::vector<Emitted> lines_;
  std::size_t hot_ = 0;  // of them, before the cold part
};

TEST_P(EmittedCode, IsAsTheCaseSays) {
  if (has(kDirect) && without_direct_table()) GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
  translate();
  EXPECT_EQ(text(), GetParam().emitted);
}

// Who sleeps for memory is brought in front of the instruction only from there: in the glue around it an instruction
// would be done again, or a record counted twice.
TEST_P(EmittedCode, AnInstructionIsAheadOnlyWhereItAccessesMemory) {
  if (has(kDirect) && without_direct_table()) GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
  translate();
  const Disassembler disassembler(*names_);
  const auto path = translator_->replay().path_into(block_, block_.instructions);
  std::vector<unsigned> places(path.size(), 0);
  for (const Emitted& emitted : std::span(lines_).first(hot_)) {
    const std::uint64_t at = emitted.at;
    const BlockStore::Place place = translator_->blocks().locate(at);
    if (place.instruction >= path.size() || !translator_->blocks().is_in_front(place, at)) continue;
    const std::string shown = disassembler.line(reinterpret_cast<const void*>(at), emitted.length, at).text;
    const bool accesses = shown.find('[') != std::string::npos || shown.starts_with("push") || shown.starts_with("pop");
    if (place.meta.rcx_spilled != 0 && !accesses) continue;  // the target, on its way into rcx
    ++places[place.instruction];
    if (!accesses_memory(*path[place.instruction].insn)) continue;
    for (const char* glue : {"slot", "watch", "bias", "elements", "guard"})
      EXPECT_EQ(shown.find(glue), std::string::npos) << shown << text();
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Insn& insn = *path[i].insn;
    EXPECT_LE(places[i], insn.flow == Flow::IndirectCall || insn.flow == Flow::IndirectJump ? 2u : 1u) << i << text();
    EXPECT_GE(places[i], accesses_memory(insn) ? 1u : 0u) << i << text();
  }
}

// Where there is no check for the horizon, which stands where flags may be written, or saves them.
class EmittedGlue : public EmittedCode {};

TEST_P(EmittedGlue, WritesNoFlags) {
  if (has(kDirect) && without_direct_table()) GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
  translate();
  std::ptrdiff_t by_the_program = 0;
  const Disassembler disassembler(*names_);
  SuperblockReplay& replay = translator_->replay();
  for (const PathInsn& insn : replay.path_into(block_, block_.instructions)) {
    const auto line = disassembler.line(insn.insn->bytes.data(), insn.insn->length, insn.insn->pc);
    const bool copied = insn.insn->flow == Flow::Plain || insn.insn->flow == Flow::Stop;
    by_the_program += copied && writes_flags(line.insn) ? 1 : 0;
  }
  EXPECT_EQ(std::ranges::count_if(lines_, &Emitted::writes_flags), by_the_program) << text();
}

std::string name_of(const testing::TestParamInfo<EmittedCase>& of) { return of.param.name; }

std::vector<EmittedCase> cases_without_brakes() {
  std::vector<EmittedCase> cases;
  std::ranges::copy_if(kEmittedCases, std::back_inserter(cases),
                       [](const EmittedCase& of) { return (of.setup & kBrakes) == 0; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Of, EmittedCode, testing::ValuesIn(kEmittedCases), &name_of);
INSTANTIATE_TEST_SUITE_P(Of, EmittedGlue, testing::ValuesIn(cases_without_brakes()), &name_of);

}  // namespace
}  // namespace zs::engine
