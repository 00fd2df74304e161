// Thread-local objects with destructors, pthread keys, and their order when threads end in different ways.
// build: dynamic -O1 -pthread
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int> made{0}, destroyed{0}, keys{0};
struct Local {
  std::string text = "thread";
  Local() { ++made; }
  ~Local() { destroyed += text == "thread" ? 1 : 1000; }
};
thread_local Local local;
thread_local std::unique_ptr<std::vector<int>> list;
pthread_key_t key;

void key_destructor(void* value) {
  ++keys;
  if (reinterpret_cast<std::uintptr_t>(value) < 3) {  // set again: destructors run another round
    pthread_setspecific(key, reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(value) + 1));
  }
}
void use(int n) {
  local.text.append("");
  list = std::make_unique<std::vector<int>>(n, n);
  pthread_setspecific(key, reinterpret_cast<void*>(std::uintptr_t{1}));
}
void* leave_by_exit(void*) {
  use(3);
  pthread_exit(nullptr);
}

}  // namespace

int main() {
  pthread_key_create(&key, key_destructor);
  for (int i = 0; i < 20; ++i) {
    std::thread([i] { use(i); }).join();
    pthread_t thread;
    pthread_create(&thread, nullptr, leave_by_exit, nullptr);
    pthread_join(thread, nullptr);
  }
  std::printf("made %d destroyed %d keys %d\n", made.load(), destroyed.load(), keys.load());
}
