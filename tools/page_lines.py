"""Whether a line of a page is still what a command prints: numbers may be a little different elsewhere.

How many instructions a program's libc takes to start depends on its version and on the processor, and with that where samples fall.
"""
import re

# A sign belongs to it where it begins a word.
NUMBER = re.compile(r"(?:(?<![^\s(])[-+]|(?<![-+\w.,]))\d[\d,]*(?:\.\d+)?(?![\w.,])")
# A cell for each 5 % of something, and what they are, the most first; of nearly as much the order is chance.
BAR = re.compile(r"\|[\w ]{10,}\|([^;]*)")
# One as long as the number before it says: an eighth of a cell turns on what is behind that number's last digit.
LENGTH = re.compile("[█▉▊▋▌▍▎▏]+")


def alike(shown, now, points=1.5):
    """Whether two lines say the same. Numbers of three digits or more, those with a point and percentages may differ by 3 %
    or by `points`, whatever is more."""
    def skeleton(line):
        return " ".join(LENGTH.sub("█", NUMBER.sub("#", line)).split())

    def numbers(line):
        return [(match[0], line[match.end():match.end() + 1] == "%") for match in NUMBER.finditer(line)]

    def near(a, b):
        (a, share), (b, _) = a, b
        if a == b:
            return True
        small = len(a.lstrip("-+")) < 3 and "." not in a and not share
        a, b = (float(x.replace(",", "")) for x in (a, b))
        return not small and abs(a - b) <= max(0.03 * max(abs(a), abs(b)), points)
    shown, now = (BAR.sub(lambda bar: " ".join(sorted(bar[1].split(", "), key=str.split)), line.replace("..", " .. "))
                  for line in (shown, now))
    return skeleton(shown) == skeleton(now) and all(near(a, b) for a, b in zip(numbers(shown), numbers(now)))
