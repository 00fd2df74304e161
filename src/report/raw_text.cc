#include "report/raw_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "arch/ibs.h"
#include "arch/records/ds_excerpt.h"
#include "arch/records/skid_note.h"
#include "base/bytes.h"
#include "profile/event_attr.h"

namespace zs::report {

using profile::PerfDataReader;
using profile::SampleRecord;

namespace {

template <typename Register>
std::string register_text(std::string_view name, std::uint64_t raw) {
  std::string line = fmt::format("  {:<12}{:016x}", name, raw);
  Register{raw}.for_each_set_field(
      [&](const char* field, int, std::uint64_t value) { line += fmt::format(" {}={}", field, value); });
  return line + '\n';
}

/// What a kernel gives of a sampled op; "" if it is not that.
std::string ibs_text(Bytes raw) {
  constexpr std::size_t kRegisters = 8;
  ByteReader in{raw};
  const auto capabilities = in.read<std::uint32_t>();
  const auto values = in.read_array<std::uint64_t>(kRegisters);
  if (!in.ok() || values.size() != kRegisters) return "";
  std::string text = fmt::format("op sample, capabilities {:x}\n", capabilities);
  text += register_text<arch::IbsOpCtl>("IbsOpCtl", values[0]);
  text += fmt::format("  {:<12}{:016x}\n", "IbsOpRip", values[1]);
  text += register_text<arch::IbsOpData>("IbsOpData", values[2]);
  text += register_text<arch::IbsOpData2>("IbsOpData2", values[3]);
  text += register_text<arch::IbsOpData3>("IbsOpData3", values[4]);
  text += fmt::format("  {:<12}{:016x}\n  {:<12}{:016x}\n  {:<12}{:016x}\n", "IbsDcLinAd", values[5], "IbsDcPhysAd",
                      values[6], "IbsBrTarget", values[7]);
  return text;
}

}  // namespace

Result<void> raw_text(const PerfDataReader& reader, const std::function<void(std::string_view)>& out) {
  const bool any = std::ranges::any_of(reader.events(), [](const PerfDataReader::Event& event) {
    return (event.attr.sample_type & profile::perf::sample_field::raw) != 0;
  });
  if (!any) return Error{reader.name() + ": its samples hold no raw records", "record with -R (--raw-samples)"};
  std::uint64_t number = 0;
  reader.for_each(PerfDataReader::Order::Time, [&](const profile::Record& record) {
    const auto* const found = std::get_if<SampleRecord>(&record);
    if (found == nullptr) return;
    const session::Sample& sample = found->sample;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    out(fmt::format("sample {}: {} of {}/{} at {}.{:09}\n", number++, reader.events()[sample.event].name, sample.pid,
                    sample.tid, sample.time_ns / kSecond, sample.time_ns % kSecond));
    const bool of_ibs = reader.events()[sample.event].attr.type == profile::kIbsOpType;
    if (const std::string text = of_ibs ? ibs_text(sample.raw) : ""; !text.empty()) {
      out(text);
    } else if (const auto excerpt = arch::read_excerpt(sample.raw)) {
      out(arch::excerpt_text(*excerpt));
    } else if (const auto note = arch::read_skid_note(sample.raw)) {
      out(fmt::format("skid: overflowed at {:x}, {} instructions before what is shown\n", note->ip,
                      note->instructions));
    } else if (std::ranges::all_of(sample.raw, [](std::byte b) { return b == std::byte{0}; })) {
      out("no record: an overflow interrupt made this sample\n");
    } else {
      out(fmt::format("{} bytes of raw data that are no PEBS record of zeroskid's\n", sample.raw.size()));
    }
  });
  return {};
}

}  // namespace zs::report
