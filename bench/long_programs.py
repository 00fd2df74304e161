"""The long set: programs that compute for some tenths of a second to some seconds, most of it in loops."""
import os
import subprocess

from measuring import Workload

#: name -> (words, preparation). {p}: our programs; {cc1}: the C compiler proper; {d}: the command's folder.
ROWS = {
    "integer": ("{p}/integer", None),
    "matmul": ("{p}/matmul", None),
    "nbody": ("{p}/nbody", None),
    "chase": ("{p}/chase", None),
    "sort": ("{p}/sort", None),
    "interpreter": ("{p}/interpreter", None),
    "virtual calls": ("{p}/virtual_calls", None),
    "json": ("{p}/json", None),
    "copying": ("{p}/copying", None),
    "hash tables": ("{p}/hash_tables", None),
    "two threads": ("{p}/two_threads", None),
    "exceptions": ("{p}/exceptions", None),
    "sqlite3": ("sqlite3 :memory: '.read {d}/q.sql'",
                "cat > q.sql <<'END'\ncreate table a(id integer primary key, x integer, s text);\n"
                "with recursive n(i) as (select 1 union all select i + 1 from n where i < 120000) "
                "insert into a select i, i * 7919 % 10007, 'name' || i from n;\ncreate index k on a(x);\n"
                "select count(*), sum(x), max(s) from a;\n"
                "select p.x, count(*) from a p join a q on p.x = q.x and q.id % 5 = 0 group by 1 order by 2 desc limit 3;\n"
                "select count(*) from a where s like '%99%';\nEND\n"),
    "gzip": ("gzip -c -6 data", "seq 900000 > data"),
    "xz": ("xz -c -1 -T1 data", "seq 1400000 > data"),
    "zstd": ("zstd -q -c -9 -T1 data", "seq 2000000 > data"),
    "bzip2": ("bzip2 -c data", "seq 900000 > data"),
    "python3": ("/usr/bin/python3 -I -S w.py",
                "cat > w.py <<'END'\nclass A:\n    def __init__(self, v): self.v = v\n    def f(self, d): return self.v + d.get(self.v % 97, 0)\n"
                "d = {}\ns = 0\nfor i in range(900000):\n    d[i % 97] = i\n    s += A(i).f(d)\n"
                "l = sorted((i * 7919) % 10007 for i in range(400000))\nprint(s, l[5000], len(','.join(map(str, l))))\nEND\n"),
    "cc1": ("{cc1} -quiet -O2 w.c -o /dev/null",
            "{ echo 'int table[100];'; for i in $(seq 80); do echo \"int f$i(int x, int* p) { int s = 0; for (int i = 0; "
            "i < x; ++i) { if (p[i] > $i) s += p[i] * i; else s ^= table[i % 100]; switch (s % 5) { case 0: s += $i; break; "
            "case 3: s -= x; } } return s; }\"; done; } > w.c"),
    "openssl": ("openssl dgst -sha3-256 -r data", "head -c 150000000 /dev/zero > data"),
    "grep": ("grep -c -E '([0-9])([0-9])\\2\\1' data", "seq 250000 > data"),
    "awk": ("mawk '{ s += $1 % 13; c[$1 % 1009]++ } END { print s, length(c[5]) }' data", "seq 2000000 > data"),
    "perl": ("perl w.pl",
             "cat > w.pl <<'END'\nmy (%h, $n); for my $i (1..1200000) { my $w = 'w' . ($i * 7919 % 10007); $h{$w}++; "
             "$n++ if $w =~ /^w(\\d)\\d*\\1$/ } print scalar(keys %h), \" $n\\n\";\nEND\n"),
    "sh": ("dash w.sh", "echo 'i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; echo $i' > w.sh"),
}
WORKLOADS = {name: Workload(words, preparation or "") for name, (words, preparation) in ROWS.items()}
QUICK = ("integer", "interpreter", "gzip")


def places(build):
    """What the names in braces stand for."""
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=False).stdout.strip()
    return {"p": os.path.join(build, "bench", "programs"), "cc1": cc1}


def environment(_scratch):
    """The caller's own."""
    return dict(os.environ)
