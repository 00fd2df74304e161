#include "report/text/script_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/items.h"
#include "profile/perf_data/data_source_text.h"
#include "report/text/disassembly.h"

namespace zs::report {
namespace {

using profile::PerfDataReader;
using profile::SampleRecord;
namespace field = profile::perf::sample_field;

struct FieldRow {
  ScriptField id;
  std::string_view name;
  std::uint64_t needs;      // bits of sample_type; 0: always there
  std::string_view remedy;  // how to record so that it is there
};

// clang-format off
constexpr FieldRow kFields[] = {
    {ScriptField::Comm,               "comm",        field::tid,              ""},
    {ScriptField::Pid,                "pid",         field::tid,              ""},
    {ScriptField::Tid,                "tid",         field::tid,              ""},
    {ScriptField::Cpu,                "cpu",         field::cpu,              ""},
    {ScriptField::Time,               "time",        field::time,             ""},
    {ScriptField::Period,             "period",      0,                       ""},  // or the event's, when it is fixed
    {ScriptField::Event,              "event",       0,                       ""},
    {ScriptField::Address,            "addr",        field::address,          "-d"},
    {ScriptField::DataSource,         "data_src",    field::data_source,      "-d"},
    {ScriptField::Weight,             "weight",      field::weight | field::weight_struct, "-W"},
    {ScriptField::InstructionLatency, "ins_lat",     field::weight_struct,    "-W"},
    {ScriptField::Ip,                 "ip",          field::ip,               ""},
    {ScriptField::Symbol,             "sym",         field::ip,               ""},
    {ScriptField::SymbolOffset,       "symoff",      field::ip,               ""},
    {ScriptField::Dso,                "dso",         field::ip,               ""},
    {ScriptField::SourceLine,         "srcline",     field::ip,               ""},
    {ScriptField::InterruptRegisters, "iregs",       field::regs_intr,        "--intr-regs"},
    {ScriptField::UserRegisters,      "uregs",       field::regs_user,        "--call-graph dwarf"},
    {ScriptField::BranchStack,        "brstack",     field::branch_stack,     "-b"},
    {ScriptField::BranchStackSymbols, "brstacksym",  field::branch_stack,     "-b"},
    {ScriptField::PhysicalAddress,    "phys_addr",   field::physical_address, ""},
    {ScriptField::Misc,               "misc",        0,                       ""},
    {ScriptField::InstructionBytes,   "insn",        field::ip,               ""},
    {ScriptField::InstructionLength,  "insnlen",     field::ip,               ""},
};
// clang-format on

/// What perf prints when nobody says otherwise, as far as the event's samples have it.
ScriptFields usual_fields(const PerfDataReader::Event& event) {
  using enum ScriptField;
  ScriptFields fields;
  for (const ScriptField one : {Comm, Tid, Cpu, Time, Period, Event, Ip, Symbol, SymbolOffset, Dso}) fields.set(one);
  if (event.attr.type == static_cast<std::uint32_t>(profile::perf::EventType::Raw)) {
    for (const ScriptField one : {Address, DataSource, Weight, InstructionLatency, PhysicalAddress}) fields.set(one);
  }
  if (!event.traced_as.empty()) fields.set(Address);
  for (const FieldRow& row : kFields) {
    if (row.needs != 0 && (event.attr.sample_type & row.needs) == 0) fields.clear(row.id);
  }
  return fields;
}

Result<ScriptFields> fields_of(const PerfDataReader& reader, const PerfDataReader::Event& event,
                               std::string_view text) {
  const bool changes = text.starts_with('+') || text.starts_with('-');
  ScriptFields fields = text.empty() || changes ? usual_fields(event) : ScriptFields{};
  if (text.empty()) return fields;
  for (std::string_view name : items_of(text)) {
    const bool remove = name.starts_with('-');
    if (remove || name.starts_with('+')) name.remove_prefix(1);
    const auto* row =
        std::find_if(std::begin(kFields), std::end(kFields), [name](const FieldRow& one) { return one.name == name; });
    if (row == std::end(kFields)) {
      return Error{fmt::format("there is no field '{}' to print", name),
                   fmt::format("the fields are: {}", script_field_names())};
    }
    if (remove) {
      fields.clear(row->id);
      continue;
    }
    if (row->needs != 0 && (event.attr.sample_type & row->needs) == 0) {
      return Error{fmt::format("{}: samples of event '{}' have no '{}'", reader.name(), event.name, name),
                   row->remedy.empty() ? "" : fmt::format("record with {} to have it", row->remedy)};
    }
    fields.set(row->id);
  }
  return fields;
}

class Script {
 public:
  Script(const PerfDataReader& reader, profile::Symbolizer& symbolizer, const ScriptStyle& style,
         std::vector<ScriptFields> fields, const std::function<void(std::string_view)>& out)
      : reader_(reader),
        symbolizer_(symbolizer),
        style_(style),
        fields_(std::move(fields)),
        callchains_(symbolizer, frames_, style.inlines, style.max_stack),
        out_(out) {
    symbolizer_.expect(reader);
    for (const auto& event : reader.events())
      name_width_ = std::max({name_width_, event.name.size(), event.traced_as.size()});
  }

  void run() {
    reader_.for_each(PerfDataReader::Order::Time, [this](const profile::Record& record) {
      spaces_.apply(record);
      if (const auto* sample = std::get_if<SampleRecord>(&record); sample != nullptr && is_wanted(*sample))
        print(*sample);
      if (text_.size() >= 65536) flush();
    });
    flush();
  }

 private:
  void flush() {
    out_({text_.data(), text_.size()});
    text_.clear();
  }
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  bool is_wanted(const SampleRecord& record) {
    const session::Sample& sample = record.sample;
    return style_.only.empty() ||
           profile::lets_through(style_.only, sample.pid, sample.tid, spaces_.comm(sample.pid, sample.tid),
                                 symbolizer_.locate(spaces_, sample.pid, sample.ip, record.cpumode));
  }

  std::uint64_t shown_time(std::uint64_t time_ns) {
    if (style_.times == ScriptTimes::OfClock) return time_ns;
    const std::uint64_t before = time_before_.value_or(time_ns);
    if (!time_before_ || style_.times == ScriptTimes::SinceBefore) time_before_ = time_ns;
    return time_ns - before;
  }

  void print(const SampleRecord& record) {
    using enum ScriptField;
    const session::Sample& sample = record.sample;
    const auto& event = reader_.events()[sample.event];
    const ScriptFields& fields = fields_[sample.event];
    const bool chains = style_.call_chains && (event.attr.sample_type & field::callchain) != 0;

    if (fields.has(Comm)) {
      const std::string comm = spaces_.comm(sample.pid, sample.tid);
      // A chain takes lines of its own, so there is nothing to keep in a column.
      if (fields.has(Ip) && chains) {
        add("{} ", comm);
      } else {
        add("{:>16} ", comm);
      }
    }
    if (fields.has(Pid) && fields.has(Tid)) {
      add("{:>5}/{:<5} ", sample.pid, sample.tid);
    } else if (fields.has(Pid) || fields.has(Tid)) {
      add("{:>5} ", fields.has(Pid) ? sample.pid : sample.tid);
    }
    if (fields.has(Cpu)) add("[{:03}] ", sample.cpu);
    if (fields.has(Misc)) {
      constexpr std::string_view kRings = " KUHGg";  // by perf::misc
      add("{:<6}", record.cpumode < kRings.size() ? kRings.substr(record.cpumode, 1) : "");
    }
    if (fields.has(Time)) {
      const std::uint64_t time = shown_time(sample.time_ns), seconds = time / 1'000'000'000,
                          rest = time % 1'000'000'000;
      if (style_.nanoseconds) {
        add("{:>5}.{:09}: ", seconds, rest);
      } else {
        add("{:>12}: ", fmt::format("{}.{:06}", seconds, rest / 1000));
      }
    }
    if (fields.has(Period)) add("{:>10} ", sample.period);
    if (fields.has(Event)) add("{:>{}}: ", event.name, name_width_);
    const bool traced = !event.traced_as.empty();
    if (fields.has(Address) && !traced) add("{:>16x}", sample.address);
    if (fields.has(DataSource)) {
      // perf cuts it, and pads to the longest that it has printed so far.
      constexpr std::size_t kMost = 99;
      const std::string text =
          fmt::format("{:>16x} {}", sample.data_source, profile::data_source_text(sample.data_source)).substr(0, kMost);
      data_source_width_ = std::max(data_source_width_, text.size());
      add("{:<{}}", text, data_source_width_);
    }
    if (fields.has(Weight)) add("{:>16}", sample.latency);
    if (fields.has(InstructionLatency)) add("{:>16}", sample.instruction_latency);
    if (fields.has(Ip)) print_place(record, fields);
    if (fields.has(Address) && traced) print_target(record, fields);
    if (fields.has(InterruptRegisters)) {
      print_registers(record.interrupt_registers_abi, event.attr.sample_regs_intr, record.interrupt_registers);
    }
    if (fields.has(UserRegisters)) {
      print_registers(record.user_registers_abi, event.attr.sample_regs_user, record.user_registers);
    }
    const bool types = (event.attr.branch_sample_type & profile::perf::branch_filter::type_save) != 0;
    for (const ScriptField branches : {BranchStack, BranchStackSymbols}) {
      if (fields.has(branches)) print_branches(record, branches, fields, types);
    }
    if (fields.has(InstructionBytes) || fields.has(InstructionLength)) print_instruction(record, fields);
    if (fields.has(PhysicalAddress)) add(" {:>16x}", record.physical_address);
    add("\n");
  }

  /// Its bytes are those of the file: code that was made at run time has none.
  void print_instruction(const SampleRecord& record, const ScriptFields& fields) {
    constexpr std::size_t kLongest = 15;
    const profile::Location at = symbolizer_.locate(spaces_, record.sample.pid, record.sample.ip, record.cpumode);
    if (at.dso == nullptr || at.dso->image == nullptr) return;
    const Bytes code = at.dso->image->code(at.image_address, kLongest);
    const auto decoded =
        disassemble(code, at.image_address, Syntax::Att, [](profile::ImageAddress) { return std::string(); });
    if (decoded.empty()) return;
    const std::size_t length = decoded.front().length;
    if (fields.has(ScriptField::InstructionLength)) add(" ilen: {}", length);
    if (!fields.has(ScriptField::InstructionBytes)) return;
    add(" insn:");
    for (const std::byte byte : code.first(length)) add(" {:02x}", static_cast<unsigned>(byte));
  }

  void print_place(const SampleRecord& record, const ScriptFields& fields) {
    const session::Sample& sample = record.sample;
    const auto& event = reader_.events()[sample.event];
    const bool chains = style_.call_chains && (event.attr.sample_type & field::callchain) != 0;
    if (chains) {
      const auto& chain = callchains_.of(spaces_, event, record);
      if (!chain.empty()) {
        add("\n");
        print_chain(chain, fields);
        return;
      }
    }
    const profile::Location location = symbolizer_.locate(spaces_, sample.pid, sample.ip, record.cpumode);
    add(" {:>16x}", sample.ip);
    if (fields.has(ScriptField::Symbol)) {
      add(" ");
      print_symbol(location, fields);
    }
    print_dso(location, fields);
    if (fields.has(ScriptField::SourceLine)) add("\n  {}", symbolizer_.short_line(location));
  }

  /// Of a branch: where it went.
  void print_target(const SampleRecord& record, const ScriptFields& fields) {
    const session::Sample& sample = record.sample;
    add(" => {:>16x}", sample.address);
    const bool symbol = fields.has(ScriptField::Symbol) && fields.has(ScriptField::Ip);
    if (!symbol && !fields.has(ScriptField::Dso)) return;
    const profile::Location location = symbolizer_.locate(spaces_, sample.pid, sample.address, record.cpumode);
    if (symbol) {
      add(" ");
      print_symbol(location, fields);
    }
    print_dso(location, fields);
  }

  void print_chain(const std::vector<profile::ChainEntry>& chain, const ScriptFields& fields) {
    for (const profile::ChainEntry& entry : chain) {
      add("\t{:>16x}", entry.location.mapped);
      if (fields.has(ScriptField::Symbol)) {
        add(" ");
        if (!entry.frame->inlined) {
          print_symbol(entry.location, fields);
        } else if (fields.has(ScriptField::SymbolOffset)) {
          add("{}+{:#x} (inlined)", entry.frame->function, entry.location.offset_in_symbol());
        } else {
          add("{}", entry.frame->name);
        }
      }
      // An inlined function has no place of its own: perf leaves out its file.
      if (!entry.frame->inlined) print_dso(entry.location, fields);
      if (fields.has(ScriptField::SourceLine)) add("\n  {}", symbolizer_.short_line(entry.location));
      add("\n");
    }
  }

  void print_symbol(const profile::Location& location, const ScriptFields& fields) {
    if (location.symbol == nullptr) {
      add("[unknown]");
      return;
    }
    add("{}", location.symbol->name());
    if (fields.has(ScriptField::SymbolOffset)) add("+{:#x}", location.offset_in_symbol());
  }

  void print_dso(const profile::Location& location, const ScriptFields& fields) {
    if (fields.has(ScriptField::Dso)) add(" ({})", location.dso != nullptr ? location.dso->path : "[unknown]");
  }

  void print_registers(std::uint64_t abi, std::uint64_t mask, const std::vector<std::uint64_t>& values) {
    add(" ABI:{} ", abi);
    std::size_t next = 0;
    for (unsigned bit = 0; bit < 64 && next < values.size(); ++bit) {
      if ((mask >> bit & 1) == 0) continue;
      const std::string name = bit < profile::perf::kNamedRegisters ? std::string(profile::perf::kRegisterNames[bit])
                                                                    : fmt::format("XMM{}", (bit - 32) / 2);
      add("{:>5}:0x{:x} ", name, values[next++]);
    }
  }

  void print_branches(const SampleRecord& record, ScriptField as, const ScriptFields& fields, bool types) {
    const session::Sample& sample = record.sample;
    const auto end = [&](std::uint64_t address) {
      const profile::Location location = symbolizer_.locate(spaces_, sample.pid, address, record.cpumode);
      if (as == ScriptField::BranchStack) {
        add("0x{:x}", address);
      } else if (location.symbol != nullptr) {
        add("{}+{:#x}", location.symbol->name(), location.offset_in_symbol());
      } else {
        add("[unknown]");
      }
      if (fields.has(ScriptField::Dso)) add("({})", location.dso != nullptr ? location.dso->path : "[unknown]");
    };
    for (std::size_t i = 0; i < sample.branches.size(); ++i) {
      namespace flag = profile::perf::branch_flag;
      const std::uint64_t flags = record.branch_flags[i];
      if (as == ScriptField::BranchStack) add(" ");
      end(sample.branches[i].from);
      add("/");
      end(sample.branches[i].to);
      const char predicted = (flags & flag::mispredicted) != 0 ? 'M' : (flags & flag::predicted) != 0 ? 'P' : '-';
      const auto type = flags >> flag::type_shift & flag::type_mask;
      add("/{}/{}/{}/{}/{} ", predicted, (flags & flag::in_transaction) != 0 ? 'X' : '-',
          (flags & flag::abort) != 0 ? 'A' : '-', flags >> flag::cycles_shift & flag::cycles_mask,
          types && type != 0 ? profile::perf::kBranchTypeNames[type] : "");
    }
  }

  const PerfDataReader& reader_;
  profile::Symbolizer& symbolizer_;
  const ScriptStyle& style_;
  std::vector<ScriptFields> fields_;  // by event
  profile::AddressSpaces spaces_;
  profile::Frames frames_;
  profile::Callchains callchains_;
  const std::function<void(std::string_view)>& out_;
  std::size_t name_width_ = 0, data_source_width_ = 0;
  std::optional<std::uint64_t> time_before_;  // or of the first sample
  fmt::memory_buffer text_;
};

}  // namespace

std::string script_field_names() {
  std::string names;
  for (const FieldRow& row : kFields) names += fmt::format("{}{}", names.empty() ? "" : " ", row.name);
  return names;
}

Result<void> script_text(const PerfDataReader& reader, profile::Symbolizer& symbolizer, const ScriptStyle& style,
                         const std::function<void(std::string_view)>& out) {
  std::vector<ScriptFields> fields;
  for (const auto& event : reader.events()) {
    const auto wanted = fields_of(reader, event, style.fields);
    if (!wanted) return wanted.error();
    fields.push_back(*wanted);
  }
  Script(reader, symbolizer, style, std::move(fields), out).run();
  return {};
}

}  // namespace zs::report
