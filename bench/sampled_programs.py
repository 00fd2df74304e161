"""The set of bench/sampling: programs long enough for hundreds of units, and short enough to be modelled whole.

Nine that miss the last level, four with threads (two of these are among the nine), six of the everyday kind, and others.
"""
import sys

from everyday_commands import HELPERS
from long_programs import WORKLOADS
from measuring import Workload

#: name -> (words, preparation); {p}, {cc1} and {d} as in long_programs.py.
ROWS = {
    "chase 8 MiB": ("{p}/last_level chase 8 3000000", ""),
    "chase 32 MiB": ("{p}/last_level chase 32 3000000", ""),
    "chase 128 MiB": ("{p}/last_level chase 128 3000000", ""),
    "chase 512 MiB": ("{p}/last_level chase 512 4000000", ""),
    "walk 128 MiB": ("{p}/last_level walk 128 4000000", ""),
    "scan 128 MiB": ("{p}/last_level scan 128 6000000", ""),
    "join 64 MiB": ("{p}/last_level join 64 1500000", ""),
    "walk by 2 threads": ("{p}/last_level walk 64 2000000 2", ""),
    "join by 8 threads": ("{p}/last_level join 16 400000 8", ""),
    "pigz": ("pigz -c -p 2 data", "seq 250000 > data"),
    "xz": ("xz -c -0 -T2 --block-size=200000 data", "seq 160000 > data"),
    "python3": ("/usr/bin/python3 -I -S w.py",
                "cat > w.py <<'END'\nclass A:\n    def __init__(self, v): self.v = v\n    def f(self, d): return self.v + d.get(self.v % 97, 0)\n"
                "d = {}\ns = 0\nfor i in range(150000):\n    d[i % 97] = i\n    s += A(i).f(d)\n"
                "l = sorted((i * 7919) % 10007 for i in range(100000))\nprint(s, l[5000], len(','.join(map(str, l))))\nEND\n"),
    "node": ("node w.js",
             "cat > w.js <<'END'\nconst a = []; for (let i = 0; i < 40000; ++i) a.push({k: i * 7919 % 10007, s: 'n' + i});\n"
             "a.sort((x, y) => x.k - y.k); console.log(JSON.stringify(a).length);\nEND\n"),
    "sqlite3": ("sqlite3 :memory: '.read {d}/q.sql'",
                "cat > q.sql <<'END'\ncreate table a(id integer primary key, x integer, s text);\n"
                "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) "
                "insert into a select i, i * 7919 % 10007, 'name' || i from n;\ncreate index k on a(x);\n"
                "select count(*), sum(x), max(s) from a;\n"
                "select p.x, count(*) from a p join a q on p.x = q.x and q.id % 5 = 0 group by 1 order by 2 desc limit 3;\n"
                "select count(*) from a where s like '%99%';\nEND\n"),
    "cc1": ("{cc1} -quiet -O2 w.c -o /dev/null",
            "{ echo 'int table[100];'; for i in $(seq 12); do echo \"int f$i(int x, int* p) { int s = 0; for (int i = 0; "
            "i < x; ++i) { if (p[i] > $i) s += p[i] * i; else s ^= table[i % 100]; switch (s % 5) { case 0: s += $i; break; "
            "case 3: s -= x; } } return s; }\"; done; } > w.c"),
    "git": ("git -C {d}/r log -p --stat --find-copies-harder --reverse -c --all", HELPERS + "repository r\n"),
    "zstd": ("zstd -q -c -9 -T1 data", "seq 300000 > data"),
    "gzip": ("gzip -c -6 data", "seq 200000 > data"),
    "bzip2": ("bzip2 -c data", "seq 400000 > data"),
    "perl": ("perl w.pl",
             "cat > w.pl <<'END'\nmy (%h, $n); for my $i (1..150000) { my $w = 'w' . ($i * 7919 % 10007); $h{$w}++; "
             "$n++ if $w =~ /^w(\\d)\\d*\\1$/ } print scalar(keys %h), \" $n\\n\";\nEND\n"),
    "awk": ("mawk '{ s += $1 % 13; c[$1 % 1009]++ } END { print s, length(c[5]) }' data", "seq 300000 > data"),
    "sh": ("dash w.sh", "echo 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; echo $i' > w.sh"),
}
SAMPLED = {name: Workload(words, preparation) for name, (words, preparation) in ROWS.items()}


def chosen(names):
    """[(name, workload)]: these of this set or of bench/long_programs.py, separated by commas; without any this set."""
    programs = {**WORKLOADS, **SAMPLED}
    wanted = names.split(",") if names else list(SAMPLED)
    unknown = set(wanted) - set(programs)
    if unknown:
        sys.exit(f"no program {', '.join(sorted(unknown))}; there are {', '.join(programs)}")
    return [(name, programs[name]) for name in wanted]
