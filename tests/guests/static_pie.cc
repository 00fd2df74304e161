// A static position-independent program: it relocates itself, runs constructors, IFUNCs and TLS without ld.so.
// build: static-pie
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

static thread_local int counter = 41;
struct Early {
  Early() { std::puts("constructed before main"); }
  ~Early() { std::puts("destroyed after main"); }
} early;

int main(int argc, char** argv) {
  std::map<std::string, int> words;
  const char* text = "one two three two three three";
  for (const char* p = text; *p;) {
    const std::size_t n = std::strcspn(p, " ");
    ++words[std::string(p, n)];
    p += n + std::strspn(p + n, " ");
  }
  for (const auto& [word, n] : words) std::printf("%s %d\n", word.c_str(), n);
  std::printf("tls %d argc %d %s\n", ++counter, argc, std::strlen(argv[0]) > 0 ? "named" : "nameless");
}
