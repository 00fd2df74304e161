// The first program of `zeroskid linux`: it mounts what programs expect, runs the command that /.zeroskid names, hands
// on what that writes, sends the files under /out and turns the PC off. It is linked with nothing, and static.
//
// What goes out goes through one port: the address of a parcel is written to it, and the PC takes the parcel's bytes
// from memory (src/machine/devices/monitor_ports.h). The pages are there, since this program has just filled them.
//
// /.zeroskid is strings, each with its NUL: the folder to run in, the terminal to run on or "-", whether the kernel's
// names are wanted in the end ("1"), modules of the kernel, an empty string, the environment, an empty string, the
// command.
#include <asm/unistd.h>

typedef unsigned long word;
typedef unsigned char byte;

enum { kExit = 0xF4, kPort = 0xF6, kPorts = 6 };
enum { kOutput = 1, kErrors = 2, kFile = 3, kData = 4, kCacheFile = 5, kBegin = 6, kFact = 7, kEnd = 8 };
enum { kAll = -1, kFirst = 16 };
enum { kReadOnly = 0, kWriteOnly = 1, kReadWrite = 2, kNotMine = 0400, kFolder = 0200000, kNoWait = 04000, kCloseOnExec = 02000000 };
enum { kNotFound = 127, kNotExecutable = 126, kFailed = 125, kNoEntry = 2 };

static struct {
  word kind, bytes, address;
} parcel;

static byte buffer[1 << 18];
static char path[4096];
static char command[1 << 17];
static char* words[1 << 13];

static long call(long number, word a, word b, word c, word d, word e) {
  register word r10 __asm__("r10") = d;
  register word r8 __asm__("r8") = e;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}
#define CALL1(name, a) call(__NR_##name, (word)(a), 0, 0, 0, 0)
#define CALL2(name, a, b) call(__NR_##name, (word)(a), (word)(b), 0, 0, 0)
#define CALL3(name, a, b, c) call(__NR_##name, (word)(a), (word)(b), (word)(c), 0, 0)
#define CALL4(name, a, b, c, d) call(__NR_##name, (word)(a), (word)(b), (word)(c), (word)(d), 0)
#define CALL5(name, a, b, c, d, e) call(__NR_##name, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e))

static word length(const char* text) {
  word n = 0;
  while (text[n] != 0) ++n;
  return n;
}

/// gcc makes calls of these.
void* memset(void* to, int value, word bytes) {
  for (word i = 0; i < bytes; ++i) ((volatile byte*)to)[i] = (byte)value;
  return to;
}
void* memcpy(void* to, const void* from, word bytes) {
  for (word i = 0; i < bytes; ++i) ((volatile byte*)to)[i] = ((const byte*)from)[i];
  return to;
}

static void send(word kind, const void* from, word bytes) {
  parcel.kind = kind;
  parcel.bytes = bytes;
  parcel.address = (word)from;
  __asm__ volatile("outl %0, %1" ::"a"((unsigned)(word)&parcel), "d"((unsigned short)kPort) : "memory");
}

/// The ports by which things leave: nothing is sent before. Whoever is forked meanwhile has them too.
static void open_ports(int open) { CALL3(ioperm, kExit, kPorts, open); }

/// The PC ends with that status.
static void leave(int status) {
  __asm__ volatile("outb %0, %1" ::"a"((byte)status), "d"((unsigned short)kExit));
  for (;;) CALL1(pause, 0);
}

static void put(const char* file, const char* text) {
  const long fd = CALL3(open, file, kWriteOnly, 0);
  if (fd < 0) return;
  CALL3(write, fd, text, length(text));
  CALL1(close, fd);
}

/// What a descriptor has now. returns whether it may have more
static int hand_on(word kind, int fd) {
  const long got = CALL3(read, fd, buffer, sizeof buffer);
  if (got > 0) send(kind, buffer, (word)got);
  return got > 0;
}

/// most  so many reads of it
static void send_file(word kind, word most) {
  const int fd = (int)CALL3(open, path, kReadOnly | kNoWait, 0);
  if (fd < 0) return;
  send(kind, path, length(path));
  while (most-- != 0 && hand_on(kData, fd)) {
  }
  CALL1(close, fd);
}

struct Entry {
  word inode, offset;
  unsigned short bytes;
  byte type;
  char name[1];
};

/// Every file below the folder that `path` names.
static void send_folder(word kind) {
  enum { kIsFolder = 4, kIsFile = 8 };
  byte entries[2048];
  const word end = length(path);
  const int fd = (int)CALL3(open, path, kReadOnly | kFolder, 0);
  if (fd < 0) return;
  for (long got; (got = CALL3(getdents64, fd, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < got;) {
      const struct Entry* const entry = (const struct Entry*)(entries + at);
      const word bytes = length(entry->name);
      at += entry->bytes;
      const int dots = entry->name[0] == '.' && (bytes == 1 || (bytes == 2 && entry->name[1] == '.'));
      if (dots || end + bytes + 2 > sizeof path) continue;
      path[end] = '/';
      memcpy(path + end + 1, entry->name, bytes + 1);
      if (entry->type == kIsFolder) send_folder(kind);
      if (entry->type == kIsFile) send_file(kind, kAll);
      path[end] = 0;
    }
  }
  CALL1(close, fd);
}

/// What says where the kernel's code and variables lie. In the beginning only the first names: those of variables that
/// each CPU has, and the beginning of its code.
static void send_facts(word most) {
  static const char* const kFacts[] = {"/sys/kernel/notes", "/proc/modules", "/proc/kallsyms"};
  for (word i = 0; i < sizeof kFacts / sizeof *kFacts; ++i) {
    memcpy(path, kFacts[i], length(kFacts[i]) + 1);
    send_file(kFact, most);
  }
}

static void send_all_below(word kind, const char* folder) {
  memcpy(path, folder, length(folder) + 1);
  send_folder(kind);
}

static void prepare(void) {
  static const char* const kMounts[][2] = {{"proc", "/proc"},           {"sysfs", "/sys"},
                                           {"devtmpfs", "/dev"},        {"tmpfs", "/out"},
                                           {"devpts", "/dev/pts"},      {"tmpfs", "/dev/shm"},
                                           {"debugfs", "/sys/kernel/debug"}, {"tracefs", "/sys/kernel/tracing"}};
  static const char* const kLinks[][2] = {{"/proc/self/fd", "/dev/fd"},
                                          {"/proc/self/fd/0", "/dev/stdin"},
                                          {"/proc/self/fd/1", "/dev/stdout"},
                                          {"/proc/self/fd/2", "/dev/stderr"}};
  // All is in memory already, and files that the command needs may lie there.
  CALL2(mkdir, "/tmp", 01777);
  CALL2(mkdir, "/run", 0755);
  for (word i = 0; i < sizeof kMounts / sizeof *kMounts; ++i) {
    CALL2(mkdir, kMounts[i][1], 0755);
    CALL5(mount, kMounts[i][0], kMounts[i][1], kMounts[i][0], 0, 0);
  }
  for (word i = 0; i < sizeof kLinks / sizeof *kLinks; ++i) CALL2(symlink, kLinks[i][0], kLinks[i][1]);
  const long nothing = CALL3(open, "/dev/null", kReadWrite, 0);
  for (int fd = 0; fd < 3; ++fd) CALL2(dup2, nothing, fd);
  // Time passes for handlers too, at an instruction a cycle: perf would take fewer samples than it was asked for.
  put("/proc/sys/kernel/perf_event_max_sample_rate", "100000000");
  put("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
  put("/proc/sys/kernel/perf_event_paranoid", "-1");
}

/// returns whether the kernel took it
static int load_module(const char* file) {
  const int fd = (int)CALL3(open, file, kReadOnly | kCloseOnExec, 0);
  const long failed = CALL3(finit_module, fd, "", 0);
  if (failed == 0) return 1;
  static const char kSorry[] = ": the kernel does not load this module, error ";
  const char number[] = {(char)('0' + -failed / 100 % 10), (char)('0' + -failed / 10 % 10), (char)('0' + -failed % 10), '\n'};
  open_ports(1);
  send(kErrors, file, length(file));
  send(kErrors, kSorry, sizeof kSorry - 1);
  send(kErrors, number, sizeof number);
  return 0;
}

/// terminal  what the command runs on; below 0: on `out` and `errors`
static void run(int terminal, char** environment, char** argv, int out, int errors) {
  enum { kMakeItMine = 0x540E };  // TIOCSCTTY
  static const char kSorry[] = ": cannot be executed\n";
  open_ports(0);
  if (terminal >= 0) {
    CALL1(setsid, 0);
    CALL3(ioctl, terminal, kMakeItMine, 0);
    CALL2(dup2, terminal, 0);
    out = errors = terminal;
  }
  CALL2(dup2, out, 1);
  CALL2(dup2, errors, 2);
  const long failed = CALL3(execve, argv[0], argv, environment);
  CALL3(write, 2, argv[0], length(argv[0]));
  CALL3(write, 2, kSorry, sizeof kSorry - 1);
  CALL1(exit_group, failed == -kNoEntry ? kNotFound : kNotExecutable);
}

/// Sends files of /out that somebody has written and closed: they are kept whatever becomes of the guest.
static void send_closed(int watch) {
  struct Closed {
    int watch;
    unsigned mask, cookie, bytes;
    char name[1];
  };
  static const char kFolderName[] = "/out/";
  enum { kHead = 16 };
  byte events[4096];
  const long got = CALL3(read, watch, events, sizeof events);
  for (long at = 0; at < got;) {
    const struct Closed* const closed = (const struct Closed*)(events + at);
    at += kHead + (long)closed->bytes;
    if (closed->bytes == 0) continue;
    memcpy(path, kFolderName, sizeof kFolderName - 1);
    memcpy(path + sizeof kFolderName - 1, closed->name, length(closed->name) + 1);
    send_file(kFile, kAll);
  }
}

/// Hands on what the command writes until it has ended. returns its exit status as shells have it
static int attend(int child, int out, int errors, int watch) {
  enum { kReadable = 1 };
  struct {
    int fd;
    short events, found;
  } wait[4] = {{out, kReadable, 0}, {errors, kReadable, 0}, {(int)CALL2(pidfd_open, child, 0), kReadable, 0},
               {watch, kReadable, 0}};
  for (int more = 1; more || wait[2].found == 0;) {
    CALL3(poll, wait, 4, -1L);
    more = 0;
    if (wait[3].found != 0) send_closed(watch);
    for (int i = 0; i < 2; ++i) {
      if (wait[i].found == 0) continue;
      if (hand_on(i == 0 ? kOutput : kErrors, wait[i].fd)) {
        more = 1;
      } else {
        wait[i].fd = -1;
      }
    }
  }
  int status = 0;
  CALL4(wait4, child, &status, 0, 0);
  return (status & 127) != 0 ? 128 + (status & 127) : status >> 8 & 255;
}

__attribute__((used)) void start(void) {
  const int fd = (int)CALL3(open, "/.zeroskid", kReadOnly | kCloseOnExec, 0);
  const long bytes = CALL3(read, fd, command, sizeof command);
  prepare();
  enum { kModules, kEnvironment, kCommand, kLists };
  word count = 0, list = kModules, first[kLists] = {3};
  for (long at = 0; at < bytes; at += (long)length(command + at) + 1) {
    words[count] = command[at] != 0 || list == kCommand ? command + at : 0;
    if (words[count++] == 0) first[++list] = count;
  }
  words[count] = 0;
  CALL1(chdir, words[0]);
  for (char** module = words + first[kModules]; *module != 0; ++module) {
    if (!load_module(*module)) leave(kFailed);
  }
  // Open before anything is typed: opening a serial port throws away what it has received.
  const int terminal = *words[1] == '/' ? (int)CALL3(open, words[1], kReadWrite | kNotMine | kCloseOnExec, 0) : -1;
  int out[2], errors[2];
  CALL2(pipe2, out, kCloseOnExec);
  CALL2(pipe2, errors, kCloseOnExec);
  enum { kWrittenAndClosed = 8 };
  const int watch = (int)CALL1(inotify_init1, kNoWait | kCloseOnExec);
  CALL3(inotify_add_watch, watch, "/out", kWrittenAndClosed);
  open_ports(1);
  send_facts(kFirst);
  const long child = CALL1(fork, 0);
  if (child == 0) run(terminal, words + first[kEnvironment], words + first[kCommand], out[1], errors[1]);
  send(kBegin, buffer, 0);
  CALL1(close, out[1]);
  CALL1(close, errors[1]);
  const int status = attend((int)child, out[0], errors[0], watch);
  send(kEnd, buffer, 0);
  send_all_below(kFile, "/out");
  send_all_below(kCacheFile, "/root/.debug/[kernel.kallsyms]");
  if (*words[2] == '1') send_facts(kAll);
  leave(status);
}

__asm__(".globl _start\n_start: and $-16, %rsp\n call start\n");
