#include "report/raw_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "arch/records/ds_excerpt.h"

namespace zs::report {

using profile::PerfDataReader;
using profile::SampleRecord;

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
    if (const auto excerpt = arch::read_excerpt(sample.raw)) {
      out(arch::excerpt_text(*excerpt));
    } else if (std::ranges::all_of(sample.raw, [](std::byte b) { return b == std::byte{0}; })) {
      out("no record: an overflow interrupt made this sample\n");
    } else {
      out(fmt::format("{} bytes of raw data that are no PEBS record of zeroskid's\n", sample.raw.size()));
    }
  });
  return {};
}

}  // namespace zs::report
