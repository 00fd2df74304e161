"""The command set: what people type all day. Short processes, code that runs once, many system calls.

Inputs are made here, the same on every machine, and stand in a temporary folder that is also HOME: no file of the user's and
no network is touched. What a command prints and makes is compared with the native run, so commands are chosen or told to
print no times and no process ids.
"""
import os

from measuring import Workload

#: Shell functions for the preparations below.
HELPERS = r"""
c_files() {  # c_files N: N small C files, main.c that calls them, and a makefile
  i=1
  while [ $i -le $1 ]; do
    { printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n'
      printf 'struct item%s { int key; char name[16]; };\n\n' $i
      printf 'int step%s(int n) {\n  struct item%s items[8];\n  int sum = %s;\n' $i $i $i
      printf '  for (int i = 0; i < 8; ++i) {\n    items[i].key = (n * %s + i) %% 31;\n' $i
      printf '    snprintf(items[i].name, sizeof items[i].name, "k%%d", items[i].key);\n'
      printf '    sum += (int)strlen(items[i].name) + items[i].key;\n  }\n  return sum;\n}\n'; } > part$i.c
    i=$((i + 1))
  done
  { echo '#include <stdio.h>'
    seq $1 | sed 's/.*/int step&(int n);/'
    echo 'int main(void) {'; echo '  int sum = 0;'
    seq $1 | sed 's/.*/  sum += step&(sum);/'
    printf '  printf("%%d\\n", sum);\n  return 0;\n}\n'; } > main.c
  { printf 'CFLAGS = -O1 -Wall\nOBJECTS = main.o'; seq -f ' part%g.o' $1 | tr -d '\n'
    printf '\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\nclean:\n\trm -f program *.o\n'; } > Makefile
}
tree() {  # tree FOLDER: 16 folders of 20 text files
  mkdir -p "$1"
  seq 320 | awk -v top="$1" '{
    folder = top "/part" $1 % 16; if (!(folder in made)) { system("mkdir -p " folder); made[folder] = 1 }
    file = folder "/note" $1 ".txt"
    for (i = 0; i < 40; ++i) print "line " i " of note " $1 ": " ($1 * 7919 + i * 104729) % 10007 (i == $1 % 40 ? " needle" : "") > file
    close(file) }'
}
table() {  # table N: N lines of name, number, word
  seq "$1" | awk '{ print "name" $1 * 7919 % 10007 "\t" $1 * 104729 % 100003 "\tword" $1 % 97 }'
}
repository() {  # repository FOLDER: 12 commits over the tree
  tree "$1"
  git -C "$1" init -q -b main
  for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    for f in 1 2 3; do echo "change $n" >> "$1/part$n/note$((n + 16 * f)).txt"; done
    git -C "$1" add -A
    GIT_AUTHOR_DATE="2024-01-$((n + 9))T12:00:00Z" GIT_COMMITTER_DATE="2024-01-$((n + 9))T12:00:00Z" \
      git -C "$1" commit -q -m "change $n: three notes"
  done
  echo more >> "$1/part3/note35.txt"
  echo new > "$1/part4/new.txt"
}
"""

SHAPES_CC = r"""
cat > w.cc <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual double area() const = 0; };
struct Square : Shape { explicit Square(double s) : side(s) {} double area() const override { return side * side; } double side; };
struct Circle : Shape { explicit Circle(double r) : radius(r) {} double area() const override { return 3 * radius * radius; } double radius; };
int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 100; ++i) {
    if (i % 3) shapes.push_back(std::make_unique<Square>(i)); else shapes.push_back(std::make_unique<Circle>(i));
  }
  std::sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) { return a->area() < b->area(); });
  std::map<std::string, double> sums;
  for (const auto& s : shapes) sums[std::to_string(static_cast<int>(s->area()) % 7)] += s->area();
  for (const auto& [name, sum] : sums) std::cout << name << ' ' << sum << '\n';
}
END
"""

SMALL_C = r"""
cat > w.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }
int main(int argc, char** argv) {
  qsort(argv + 1, (size_t)(argc - 1), sizeof *argv, by_name);
  for (int i = 1; i < argc; ++i) printf("%d %s\n", i, argv[i]);
  return 0;
}
END
"""

ROWS = {
    # Compilers
    "g++ -O2 -c": Workload("g++ -std=c++17 -O2 -c w.cc -o w.o", SHAPES_CC, "rm -f w.o", "w.o"),
    "gcc -c": Workload("gcc -c w.c -o w.o", SMALL_C, "rm -f w.o", "w.o"),
    "gcc, to a program": Workload("gcc -O2 w.c -o w", SMALL_C, "rm -f w", "w"),
    "clang -c": Workload("clang -O2 -c w.c -o w.o", SMALL_C, "rm -f w.o", "w.o"),
    "rustc": Workload("rustc -o w w.rs",
                      "cat > w.rs <<'END'\nuse std::collections::BTreeMap;\nfn main() {\n    let mut m = BTreeMap::new();\n"
                      "    for i in 0..100u32 { *m.entry(i % 7).or_insert(0) += i; }\n    println!(\"{:?}\", m);\n}\nEND\n",
                      "rm -f w", "w"),
    "go build": Workload("go build -trimpath -o w w.go",
                         "cat > w.go <<'END'\npackage main\n\nimport (\n\t\"fmt\"\n\t\"sort\"\n)\n\nfunc main() {\n\tl := []int{3, 1, 2}\n"
                         "\tsort.Ints(l)\n\tfmt.Println(l)\n}\nEND\n"
                         "go build -trimpath -o w w.go\nsed -i 's/3, 1, 2/4, 1, 2/' w.go\ncp -a \"$GOCACHE\" cache.before",
                         "rm -rf w \"$GOCACHE\" && cp -a cache.before \"$GOCACHE\"", "w"),
    "javac": Workload("javac W.java",
                      "cat > W.java <<'END'\nimport java.util.TreeMap;\npublic class W {\n  public static void main(String[] a) {\n"
                      "    var m = new TreeMap<Integer, Integer>();\n    for (int i = 0; i < 100; i++) m.merge(i % 7, i, Integer::sum);\n"
                      "    System.out.println(m);\n  }\n}\nEND\n", "rm -f W.class", "W.class"),
    # Interpreters
    "python3 -c pass": Workload("python3 -c pass"),
    "python3, a script": Workload("python3 w.py",
                                  "cat > w.py <<'END'\nimport argparse, collections, json, re, tempfile\n"
                                  "words = collections.Counter(re.findall(r'\\w+', open('text').read()))\n"
                                  "print(json.dumps(words.most_common(5)))\nEND\ntable 500 > text\n"),
    "perl -e 1": Workload("perl -e 1"),
    "perl, a script": Workload("perl -MPOSIX -MData::Dumper -lane '$n{$F[2]} += $F[1]; "
                               "END { $Data::Dumper::Sortkeys = 1; print Dumper(\\%n) }' text", "table 2000 > text\n"),
    "ruby -e 1": Workload("ruby -e 1"),
    "php": Workload("php -r 'echo strrev(\"abc\"), PHP_EOL;'"),
    "node -e 1": Workload("node -e 1"),
    "lua": Workload("lua5.4 -e 'local t = {} for i = 1, 100 do t[i] = i * i end print(#t, t[100])'"),
    "tclsh": Workload("tclsh w.tcl", "echo 'foreach i {1 2 3} { puts [expr {$i * $i}] }' > w.tcl"),
    # Shells
    "bash, 200 commands": Workload("bash w.sh",
                                   "cat > w.sh <<'END'\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
                                   "  /bin/true\n  basename \"/usr/lib/file$i.txt\" .txt\n  expr $i \\* 7\n  dirname \"/a/b/$i\"\n"
                                   "  cat text\n  echo \"line $i\" | tr a-z A-Z\n  head -n 1 text\n  echo \"$i:x:y\" | cut -d: -f1\n"
                                   "  wc -l < text\n  /bin/echo done $i\ndone\nEND\nseq 3 > text\n"),
    "sh -c": Workload("sh -c 'for i in 1 2 3; do echo $i; done'"),
    # Building
    "make, 20 C files": Workload("make -s", "c_files 20\n", "make -s clean", "program"),
    "make, nothing to do": Workload("make -s", "c_files 20\nmake -s\n"),
    "cmake": Workload("cmake -S . -B out", "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(w NONE)\\n"
                                           "add_custom_target(t ALL COMMAND true)\\n' > CMakeLists.txt\n", "rm -rf out"),
    # Version control
    "git status": Workload("git -C r status", "repository r\n"),
    "git log": Workload("git -C r log --stat", "repository r\n"),
    "git diff": Workload("git -C r diff HEAD~6", "repository r\n"),
    "git clone": Workload("git clone -q r copy", "repository r\n", "rm -rf copy"),
    # Packages
    "dpkg -l": Workload("dpkg -l"),
    "apt-cache": Workload("apt-cache -o Dir::Cache::pkgcache={d}/pkgcache -o Dir::Cache::srcpkgcache={d}/srcpkgcache policy libc6 bash",
                          "apt-cache -o Dir::Cache::pkgcache={d}/pkgcache -o Dir::Cache::srcpkgcache={d}/srcpkgcache stats\n"),
    # Databases
    "sqlite3": Workload("sqlite3 :memory: '.read q.sql'",
                        "cat > q.sql <<'END'\ncreate table a(id integer primary key, x integer);\n"
                        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) "
                        "insert into a select i, i * 7919 % 101 from n;\n"
                        "select x, count(*) from a group by x order by 2 desc, 1 limit 5;\nEND\n"),
    "postgres, a server": Workload("sh w.sh", r"""
cat > w.sh <<'END'
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1); d=$(mktemp -d /tmp/zs-postgres-XXXXXX); chmod 755 "$d"; cd "$d"
run() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --clear-groups "$@"; else "$@"; fi; }
[ "$(id -u)" = 0 ] && chown 65534 "$d"
run "$bin/initdb" -D "$d/db" -A trust -N --no-locale -U me > /dev/null 2>&1; echo initdb $?
run "$bin/pg_ctl" -D "$d/db" -s -w start -o "-k $d -h ''" -l "$d/log"; echo start $?
run "$bin/psql" -h "$d" -U me -d postgres -Atc \
  "create table t as select i, i % 7 j from generate_series(1, 50000) i; select j, sum(i) from t group by j order by j"
run "$bin/pg_ctl" -D "$d/db" -s -w stop; echo stop $?
cd /; rm -rf "$d"
END
""", needs="/usr/lib/postgresql/*/bin/initdb"),
    # Archives
    "xz": Workload("xz -c -T1 text", "table 20000 > text\n"),
    "gzip": Workload("gzip -n -c text", "table 20000 > text\n"),
    "zstd": Workload("zstd -q -c -T1 text", "table 60000 > text\n"),
    "tar": Workload("tar -cf - --sort=name --mtime=@0 --owner=0 --group=0 files", "tree files\n"),
    "tar -xz": Workload("tar -xzf files.tar.gz", "tree files\ntar -czf files.tar.gz files\n", "rm -rf files", "files/part3/*"),
    # Files and text
    "ls -lR": Workload("ls -lR files", "tree files\n"),
    "grep -r": Workload("grep -r needle files", "tree files\n"),
    "find": Workload("find files -name '*7.txt' -size -9k", "tree files\n"),
    "sort": Workload("sort -k2,2n text", "table 20000 > text\n"),
    "awk": Workload("awk -F '\\t' '{ s[$3] += $2 } END { for (k in s) n++; print n, s[\"word5\"] }' text", "table 20000 > text\n"),
    "sed": Workload("sed -n 's/name\\([0-9]*\\)5\\t/\\1 /p' text", "table 20000 > text\n"),
    "diff -r": Workload("diff -r a b", "tree a\ntree b\necho more >> b/part3/note35.txt\n", status=1),
    "jq": Workload("jq -c '[.[] | select(.n % 7 == 3) | .name]' w.json",
                   "{ echo '['; seq 800 | sed 's/.*/{\"n\": &, \"name\": \"item &\"},/'; echo '{\"n\": 0}]'; } > w.json\n"),
    "openssl": Workload("openssl dgst -sha256 -r text", "table 20000 > text\n"),
    # Tools of programmers
    "objdump -d": Workload("objdump -d --no-show-raw-insn w.o", SMALL_C + "gcc -c w.c -o w.o\n"),
    "gdb -batch": Workload("gdb -nx -batch -ex 'info line main' w", SMALL_C + "gcc -g w.c -o w\n"),
    # Large programs
    "java -version": Workload("java -version"),
    "browser": Workload("chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir={d}/profile --dump-dom file://{d}/w.html",
                        "cat > w.html <<'END'\n<!doctype html><title>w</title><body><p>none</p>\n"
                        "<script>let s = 0; for (let i = 0; i < 1000; ++i) s += i % 7; document.querySelector('p').textContent = s;</script>\nEND\n",
                        "rm -rf profile"),
}

WORKLOADS = {name: row._replace(prepare=HELPERS + row.prepare) if row.prepare else row for name, row in ROWS.items()}

#: Run once by the tests: these take some seconds under the tool, together.
QUICK = ("gcc -c", "python3 -c pass", "perl, a script", "lua", "sh -c", "make, nothing to do", "git status", "sqlite3", "tar",
         "grep -r", "find", "sort", "awk", "sed")
#: The rows that are also told apart in the summary.
MAKE = "make, 20 C files"


def places(_build):
    return {}


def environment(scratch):
    """The same for everybody. The distribution's programs come first, so that a user's own python3 or rustc is not measured."""
    home = os.path.join(scratch, "home")
    os.makedirs(home, exist_ok=True)
    return {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin", "HOME": home, "LC_ALL": "C", "TZ": "UTC", "USER": "zeroskid",
        "LOGNAME": "zeroskid", "TMPDIR": scratch, "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat",
        "GOCACHE": os.path.join(home, "go-cache"), "GOPATH": os.path.join(home, "go"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
        "GOTOOLCHAIN": "local", "GOPROXY": "off",
    }
