// LeakSanitizer alone: it stops its program by a process that shares the memory, and says at the end what nobody points to.
// build: dynamic -fsanitize=leak
// compiler: GNU
#include <cstdio>
#include <cstring>
#include <memory>

namespace {

[[gnu::noinline]] void lose() {
  char* volatile lost = new char[77];
  std::memset(lost, 1, 77);
  lost = nullptr;
}

[[gnu::noinline]] void overwrite_stack() {
  volatile char bytes[4096];
  for (volatile char& byte : bytes) byte = 0;
}

}  // namespace

int main() {
  const auto kept = std::make_unique<char[]>(100);
  lose();
  overwrite_stack();
  std::printf("%zu\n", std::strlen(kept.get()));
  return 0;
}
