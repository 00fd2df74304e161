// zeroskid with words put behind the verb, in the environment as it is given: what a shell would add to that, or
// reorder in it, a program may count. The file of this program's name and `.words` says which: the zeroskid to run in
// the first line, a word in each other. {pid} in a word is the process's number. What is no verb that runs a program is
// passed on as it is.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {
/// The lines of SELF.words.
std::vector<std::string> words_of(const std::string& self) {
  std::ifstream file(self + ".words");  // closed on return: what is open here would be open in the program
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (const std::size_t at = line.find("{pid}"); at != std::string::npos)
      line.replace(at, std::strlen("{pid}"), std::to_string(getpid()));
    words.push_back(line);
  }
  return words;
}
}  // namespace

int main(int argc, char** argv) {
  char self[PATH_MAX] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) self[0] = '\0';
  const std::vector<std::string> added = words_of(self);
  if (added.empty()) {
    std::fprintf(stderr, "%s.words: says no program\n", self);
    return 126;
  }
  std::vector<const char*> words(argv, argv + argc);
  words[0] = added[0].c_str();
  for (const char* const verb : {"stat", "record", "topdown"}) {
    if (argc < 2 || std::strcmp(argv[1], verb) != 0) continue;
    for (std::size_t i = added.size() - 1; i > 0; --i) words.insert(words.begin() + 2, added[i].c_str());
  }
  words.push_back(nullptr);
  execv(words[0], const_cast<char**>(words.data()));
  std::perror(words[0]);
  return 126;
}
