// C++ exceptions: through many frames, with destructors, rethrown, nested in a handler, of library types, by
// exception_ptr to another thread, out of constructors, and caught by a filter that does not match at first.
// build: dynamic -pthread
#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int destroyed = 0;
struct Counted {
  ~Counted() { ++destroyed; }
};

[[gnu::noinline]] void dive(int depth, int how) {
  Counted guard;
  if (depth > 0) {
    dive(depth - 1, how);
  } else if (how == 0) {
    throw 42;
  } else if (how == 1) {
    throw std::runtime_error("deep");
  } else {
    throw std::string("text");
  }
  std::puts("never");
}

[[gnu::noinline]] int middle(int how) {
  try {
    dive(50, how);
  } catch (const std::string& text) {
    try {
      throw std::logic_error("inside " + text);
    } catch (const std::exception& e) {
      std::printf("nested: %s\n", e.what());
      throw;
    }
  } catch (int value) {
    return value;
  }
  return 0;
}

struct Throwing {
  Counted first;
  Throwing() { throw std::out_of_range("constructor"); }
};

}  // namespace

int main() {
  std::printf("int %d\n", middle(0));
  for (int how = 1; how < 3; ++how) {
    try {
      middle(how);
    } catch (const std::exception& e) {
      std::printf("caught %s, destroyed %d\n", e.what(), destroyed);
    }
  }
  int caught = 0;
  for (int i = 0; i < 300; ++i) {
    try {
      if (i % 3 == 0) std::stoi("no number");
      if (i % 3 == 1) (void)std::vector<int>(3).at(5);
      if (i % 3 == 2) auto p = std::make_unique<Throwing>();
    } catch (const std::invalid_argument&) {
      caught += 1;
    } catch (const std::out_of_range&) {
      caught += 1000;
    }
  }
  std::printf("caught %d destroyed %d\n", caught, destroyed);
  auto result = std::async(std::launch::async, [] { dive(10, 1); });
  try {
    result.get();
  } catch (const std::exception& e) {
    std::printf("from a thread: %s\n", e.what());
  }
  std::set_terminate([] {
    std::puts("terminate");
    std::fflush(stdout);
    std::_Exit(3);
  });
  []() noexcept { dive(3, 0); }();
}
