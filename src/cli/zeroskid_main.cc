// zeroskid: chooses the verb. What each does is in its own file.
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/start_up.h"
#include "cli/command/exit_status.h"
#include "cli/command/perf_options.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/costs/costs.h"
#include "cli/pages/questions.h"
#include "cli/run/launch.h"
#include "cli/version.h"
#include "events/nearest_names.h"

namespace zs::cli {
namespace {

std::string help_page() {
  std::string page =
      "Precise event-based sampling for every x86-64 Linux machine, with or without a PMU.\n"
      "Usage: zeroskid VERB [OPTIONS]\n\n" +
      question_lines(kept_costs(costs_path(), this_machine())) + "\nVerbs:\n";
  for (const Verb* verb : verbs()) {
    std::string name = verb->name;
    name.resize(10, ' ');
    page += "  " + name + verb->summary + "\n";
  }
  page +=
      "\n"
      "  zeroskid VERB --help  says more of one verb; with --perf, what becomes of perf's options\n"
      "  zeroskid --version    which zeroskid this is; with --json for programs\n";
  return page;
}

const Verb* find_verb(std::string_view name) {
  const auto all = verbs();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Verb* verb) { return verb->name == name; });
  return at == all.end() ? nullptr : *at;
}

int print_version(bool json) {
  const std::string commit = kCommit;
  std::string text = "zeroskid " ZEROSKID_VERSION + (commit.empty() ? "" : " (commit " + commit + ")");
  if (json) {
    text = "{\"name\" : \"zeroskid\", \"version\" : \"" ZEROSKID_VERSION "\", \"commit\" : " +
           (commit.empty() ? "null" : "\"" + commit + "\"") + "}";
  }
  write_all(STDOUT_FILENO, text + "\n");
  return 0;
}

int unknown_verb(const std::string& name) {
  for (const PerfVerb& verb : perf_verbs()) {
    if (verb.name != name) continue;
    return refused({"perf's " + name + " is no verb here", std::string(verb.instead)});
  }
  std::vector<std::string> names;
  for (const Verb* verb : verbs()) names.emplace_back(verb->name);
  constexpr std::size_t kFar = 4;  // of typing_distance: two letters wrong
  for (const std::string& near : session::nearest_names(name, names, 1)) {
    if (session::typing_distance(name, near, kFar) > kFar) continue;
    return refused({"there is no verb " + name, near + "?"});
  }
  const std::string known = joined(names, ", ");
  return refused({(name.front() == '-' ? "there is no option " : "there is no verb ") + name, "verbs: " + known});
}

/// Files opened later must not become standard streams. What we open here does not reach the programs we run.
void fill_standard_streams() {
  for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0; fd = open("/dev/null", O_RDWR | O_CLOEXEC)) {
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
  }
}

/// libdw asks the servers of debuginfod through a library, which a static program cannot open.
void become_dynamic(char** argv) {
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  const bool is_dynamic = getauxval(AT_BASE) != 0;
  if (is_dynamic || servers == nullptr || *servers == '\0') return;
  if (const std::string other = find_own_program("zeroskid-dynamic"); !other.empty()) execv(other.c_str(), argv);
}

int run(int argc, char** argv) {
  become_dynamic(argv);
  fill_standard_streams();
  if (argc < 2) {
    write_all(STDERR_FILENO, help_page());
    return kUsage;
  }
  const std::string first = argv[1];
  if (first == "--help" || first == "-h" || (first == "help" && argc == 2)) {
    write_all(STDOUT_FILENO, help_page());
    return 0;
  }
  if (first == "--version" || first == "-V") return print_version(argc > 2 && std::strcmp(argv[2], "--json") == 0);
  if (first == "help") {
    const Verb* const verb = find_verb(argv[2]);
    if (verb == nullptr) return unknown_verb(argv[2]);
    return run_verb(*verb, {{argv[2], "--help"}});
  }
  const Verb* const verb = find_verb(first);
  return verb == nullptr ? unknown_verb(first) : run_verb(*verb, {{argv + 1, argv + argc}});
}

}  // namespace
}  // namespace zs::cli

int main(int argc, char** argv) {
  zs::populate_heap();
  zs::end_failed_checks_with(zs::cli::kToolFailed);
  return zs::cli::status_with_stdout(zs::cli::run(argc, argv));
}
