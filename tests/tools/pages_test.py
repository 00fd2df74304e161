"""tools/pages: what a page shows is what its commands print."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PAGES = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/pages"

PAGE = """# A page

```console
$ echo one; echo two >&2
one
two
$ printf '%s\\n' a \\
  b > made; ls made examples/matrix.c
examples/matrix.c
made
```

```text
$ false
```

```console
$ cat made; printf '\\n\\n   0.5 seconds time elapsed\\n\\nend\\n\\n'
a
b

end
```
"""


def pages(option, text):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text)
        done = subprocess.run([sys.executable, "-B", PAGES, option, "--build", folder, page], capture_output=True, text=True)
        return done.returncode, done.stdout, page.read_text()


class Pages(unittest.TestCase):
    def test_a_true_page_passes_and_stays(self):
        for option in ("--check", "--write"):
            status, said, text = pages(option, PAGE)
            self.assertEqual((status, text), (0, PAGE), said)
            self.assertIn("3 commands run", said)

    def test_a_page_that_drifted_fails_and_is_left_alone(self):
        for old, new in (("\none\n", "\none!\n"), ("\ntwo\n", "\n"), ("\nend\n", "\nend\nmore\n")):
            drifted = PAGE.replace(old, new, 1)
            status, said, text = pages("--check", drifted)
            self.assertEqual((status, text), (1, drifted))
            self.assertIn("which give something else", said)
            self.assertIn("hint: if the change is meant: make docs", said)

    def test_large_numbers_may_drift_a_little_and_small_ones_not(self):
        shown = "```console\n$ echo '%s  Side::best  orders.cc:49'\n%s  Side::best  orders.cc:49\n```\n"
        for now, then, alike in (("2,988,550", "2,988,906", True), ("2,988,550", "3,988,550", False), ("51.15%", "50.99%", True),
                                 ("51.15%", "48.15%", False), ("17", "18", False), ("389", "399", True), ("x86-640", "x86-641", False)):
            with self.subTest(now=now, then=then):
                self.assertEqual(pages("--check", shown % (now, then))[0], 0 if alike else 1)

    def test_a_page_is_made_true(self):
        _, _, text = pages("--write", PAGE.replace("\none\n", "\nold\n", 1))
        self.assertEqual(text, PAGE)

    def test_a_page_without_commands_is_a_mistake(self):
        status, _, _ = pages("--check", "# Nothing\n")
        self.assertNotEqual(status, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
