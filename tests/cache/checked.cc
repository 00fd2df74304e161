// zeroskid with a cache of translations that checks what is taken from it, in the environment as it is given: what a
// shell would add to that, or reorder in it, a program may count. What is no verb that runs a program is passed on as
// it is.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  words[0] = ZEROSKID;
  for (const char* const verb : {"stat", "record", "topdown"}) {
    if (argc > 1 && std::strcmp(argv[1], verb) == 0)
      words.insert(words.begin() + 2, {"--cache-dir", CACHE_FOLDER, "--check-cache"});
  }
  words.push_back(nullptr);
  execv(ZEROSKID, const_cast<char**>(words.data()));
  std::perror(ZEROSKID);
  return 126;
}
