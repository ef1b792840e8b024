"""The pages of the documentation as a reader follows them: fenced blocks, and the files that they are said to be."""

import re


class Block:
    """A fenced block of a page, and the file that it is said to be by the line before it: …is `Sources/Score/main.swift`:"""

    def __init__(self, page, line, language, text, file):
        self.page, self.line, self.language, self.text, self.file = page, line, language, text, file

    def __str__(self):
        return f"{self.page.name}:{self.line}"


def blocks(page):
    found, begun, last = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if begun is None and (start := re.match(r"```(\w*)$", line)):
            named = re.search(r"`([\w./-]+\.swift)`:$", last)
            begun = (number + 1, start[1], [], named[1] if named else None)
        elif begun and line == "```":
            found.append(Block(page, begun[0], begun[1], "\n".join(begun[2]) + "\n", begun[3]))
            begun = None
        elif begun:
            begun[2].append(line)
        elif line:
            last = line
    return found
