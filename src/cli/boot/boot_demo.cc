// `zeroskid boot --demo`: guests that are part of the program, each shown beside what the manual promises.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "base/items.h"
#include "cli/boot/boot_options.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "machine/boot/screen.h"
#include "machine/pc.h"

/// Made by guests/CMakeLists.txt: ends with a row without a name.
struct ZsGuestRow {
  const char* name;
  const std::byte* binary;
  std::uint64_t binary_bytes;
  const char* source;
  std::uint64_t source_bytes;
};
extern "C" const ZsGuestRow zs_guest_table[];

namespace zs::cli {
namespace {

/// What is shown, in the order of the telling: the five experiments on the Debug Store.
constexpr std::string_view kShown[] = {"bts_circular", "pmi_two_causes", "bts_off_os", "bts_long_mode",
                                       "bts_counts_interrupts"};
constexpr std::uint64_t kLimit = 50'000'000;
constexpr std::size_t kLeftColumn = 46;

/// The head of a guest's source: what it shows, where that is written, and the screen it should leave.
struct Story {
  std::vector<std::string> purpose;
  std::vector<std::string> screen;
  std::string source;
};

/// A promise for some CPU models only begins with their names in brackets. returns nothing if this is for others
std::optional<std::string_view> promise_for(std::string_view line, std::string_view cpu) {
  if (!line.starts_with('[')) return line;
  const std::size_t end = line.find("] ");
  if (end == std::string_view::npos) return line;
  const std::string models = " " + std::string(line.substr(1, end - 1)) + " ";
  const std::string model = " " + std::string(cpu.substr(0, cpu.find('@'))) + " ";
  if (models.find(model) == std::string::npos) return std::nullopt;
  return line.substr(end + 2);
}

Story read_story(std::string_view text, std::string_view cpu) {
  Story story;
  bool purpose = true;
  for (std::string_view line : pieces_of(text, '\n')) {
    if (!line.starts_with(';')) break;
    line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    constexpr std::string_view kSource = "source: ", kScreen = "screen ";
    if (line.starts_with(kSource)) {
      story.source = line.substr(kSource.size());
      purpose = false;
    } else if (line.starts_with(kScreen)) {
      if (const auto promise = promise_for(line.substr(kScreen.size()), cpu)) story.screen.emplace_back(*promise);
    } else if (purpose && !line.empty()) {
      story.purpose.emplace_back(line);
    }
  }
  return story;
}

const ZsGuestRow* find_guest(std::string_view name) {
  for (const ZsGuestRow* row = zs_guest_table; row->name != nullptr; ++row) {
    if (row->name == name) return row;
  }
  return nullptr;
}

struct Shown {
  std::string page;
  bool as_promised = false;
};

Result<Shown> show(const ZsGuestRow& guest, const BootPlan& plan) {
  const Story story = read_story({guest.source, guest.source_bytes}, plan.cpu->name);
  auto made = machine::Pc::make({.cpu = plan.cpu, .quirks = plan.quirks, .memory_bytes = plan.memory_bytes});
  if (!made) return made.error();
  machine::Pc& pc = **made;
  machine::MultibootInput input{.kernel = std::vector<std::byte>(guest.binary, guest.binary + guest.binary_bytes),
                                .kernel_name = guest.name,
                                .command_line = guest.name,
                                .modules = {}};
  if (const auto loaded = pc.boot_kernel(input); !loaded) return loaded.error();
  const machine::PcStop stop = pc.run(kLimit);
  std::vector<std::string> got;
  for (const machine::ScreenRow& row : pc.screen()) got.push_back(row.text());

  Shown shown{.page = fmt::format("== {}\n", guest.name)};
  for (const std::string& line : story.purpose) shown.page += line + "\n";
  shown.page += "   " + story.source + "\n\n";
  shown.page += fmt::format("  {:<{}}  {}\n", "promised", kLeftColumn, "here");
  shown.as_promised = stop.kind == machine::PcStopKind::Idle && got == story.screen;
  for (std::size_t i = 0; i < std::max(got.size(), story.screen.size()); ++i) {
    const std::string promised = i < story.screen.size() ? story.screen[i] : "";
    const std::string here = i < got.size() ? got[i] : "";
    shown.page += fmt::format("{} {:<{}}  {}\n", promised == here ? ' ' : '!', promised, kLeftColumn, here);
  }
  if (stop.kind != machine::PcStopKind::Idle) shown.page += "! it did not come to its end: " + stop.detail + "\n";
  shown.page += "\n";
  return shown;
}

}  // namespace

int run_boot_demo(const BootPlan& plan) {
  if (zs_guest_table[0].name == nullptr)
    return failed({"boot --demo: this zeroskid was built without guests", "install nasm and build again"});
  write_all(STDOUT_FILENO, fmt::format("Five experiments on the Debug Store, on {}.\n\n", plan.cpu->name));
  std::size_t kept = 0;
  for (const std::string_view name : kShown) {
    const ZsGuestRow* const guest = find_guest(name);
    if (guest == nullptr) continue;
    const auto shown = show(*guest, plan);
    if (!shown) return failed(shown.error());
    write_all(STDOUT_FILENO, shown->page);
    if (shown->as_promised) ++kept;
  }
  write_all(STDOUT_FILENO, fmt::format("{} of {} as the manual promises\n", kept, std::size(kShown)));
  return kept == std::size(kShown) ? 0 : 1;
}

}  // namespace zs::cli
